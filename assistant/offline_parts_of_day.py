"""Which hour is meant by a number and a part of the day (O2, U9): “every night at 2”, “每天晚上十二点”. Pure.

The hard thing is the night: its 12 and the hours after it belong to the next day, so whoever says them is asked.
"""

from datetime import time
from enum import StrEnum
from typing import Final

from assistant.offline_when import Unclear, clock_time


class Part(StrEnum):
    """A part of the day in which a clock is read."""

    SMALL_HOURS = "small hours"
    MORNING = "morning"
    NOON = "noon"
    AFTERNOON = "afternoon"
    EVENING = "evening"
    NIGHT = "night"


_AS_SAID: Final = {
    Part.SMALL_HOURS: range(7),
    Part.MORNING: range(12),
    Part.NOON: range(11, 15),
    Part.AFTERNOON: range(12, 20),
    Part.EVENING: range(16, 24),
    Part.NIGHT: range(18, 24),
}
_TWELVE_LATER: Final = {
    Part.NOON: range(1, 4),
    Part.AFTERNOON: range(1, 12),
    Part.EVENING: range(4, 12),
    Part.NIGHT: range(6, 12),
}
_ASKED_ABOUT: Final = (Part.MORNING, Part.EVENING, Part.NIGHT)


def hour_in(part: Part, hour: int, minute: int) -> time | Unclear | None:
    """The time of day of an hour that was said with a part of the day and without am or pm.

    Returns:
        What is to be asked where two hours could be meant; None where no clock shows it in that part.
    """
    if hour in _TWELVE_LATER.get(part, ()):
        return clock_time(hour, minute, "pm")
    if hour in _AS_SAID[part]:
        return clock_time(hour, minute, None)
    if part is Part.SMALL_HOURS and hour == 12:
        return clock_time(hour, minute, "am")
    return Unclear("which_hour") if part in _ASKED_ABOUT and hour <= 12 else None
