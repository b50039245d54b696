"""The person's settings of a user space (api.md `agents.settings`): their shape, their defaults, a change's effect.

Only what the person chose is kept: a key without a choice follows the default, whatever that will be. A choice stays
until the person makes another one (E8).
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

AUTO_REVIEW: Final = "auto_review"
LONGEST_WINDOW_S: Final = 900
AGENTS: Final = 200
CHANNELS: Final = 16
CHANNELS_KEY: Final = "channels"
ATTENTION_KEYS: Final = frozenset({"notifications", "quiet_hours", "aggregation_s"})
"""Settings whose change concerns news that is waiting to be announced (N8, N12)."""

_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def _wall_time(said: str) -> str:
    if _TIME.fullmatch(said) is None:
        raise ValueError("must be a time from 00:00 to 23:59, with both digits of the hour, such as 07:00")
    return said


Time = Annotated[str, AfterValidator(_wall_time)]
Zone = Annotated[str, Field(min_length=1, max_length=64)]
AgentId = Annotated[str, Field(min_length=1, max_length=128)]
Json = dict[str, Any]

DEFAULTS: Final[Mapping[str, Any]] = {
    "notifications": {"enabled": True, "agents": {}},
    "quiet_hours": {"enabled": False, "timezone": "UTC", "start": "22:00", "end": "07:00"},
    "aggregation_s": 0,
    AUTO_REVIEW: True,
    "inputs_while_running": "queue",
    "language": "en",
    "channels": [],
}
"""Aggregation is off (N3), the automatic review is on (E8), inputs queue (C3)."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NotificationChanges(_Strict):
    """`agents`: on or off for one agent each; null takes the choice for that agent back."""

    enabled: bool = DEFAULTS["notifications"]["enabled"]
    agents: Annotated[dict[AgentId, bool | None], Field(max_length=AGENTS)] = {}


class QuietHourChanges(_Strict):
    """Local wall time in an IANA zone, start inclusive and end exclusive (N2)."""

    enabled: bool = False
    timezone: Zone = ""
    start: Time = ""
    end: Time = ""


class NewChannel(_Strict):
    """A channel to add (N9); its address is a secret, which is never shown again (P15)."""

    kind: Literal["apprise"]
    url: Annotated[str, Field(min_length=1, max_length=1000, repr=False)]


class KeptChannel(_Strict):
    """A channel that stays, by its id."""

    channel_id: Annotated[str, Field(min_length=1, max_length=128)]


class SettingChanges(_Strict):
    """What `agents.settings.update` may change; what is not named stays as it is, also inside of the nested ones.

    `channels`, where it is named, is all of them: one that is not in it is removed.
    """

    notifications: NotificationChanges = NotificationChanges()
    quiet_hours: QuietHourChanges = QuietHourChanges()
    aggregation_s: Annotated[int, Field(ge=0, le=LONGEST_WINDOW_S)] = 0
    auto_review: bool = True
    inputs_while_running: Literal["queue", "merge"] = "queue"
    language: Literal["en", "zh"] = "en"
    channels: Annotated[list[NewChannel | KeptChannel], Field(max_length=CHANNELS)] = []


def in_force(choices: Mapping[str, Any]) -> Json:
    """All settings: the person's choices over the defaults."""
    return _merged(DEFAULTS, choices)


def chosen(choices: Mapping[str, Any], changes: SettingChanges) -> Json:
    """The choices after a change: what it names, and nothing else, becomes the person's own.

    Channels are no choice among values: they have rows and secrets of their own.
    """
    return _merged(choices, changes.model_dump(exclude_unset=True, exclude={CHANNELS_KEY}))


def changed_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The settings that are other ones in force after a change of choices."""
    old, new = in_force(before), in_force(after)
    return {key for key in new if new[key] != old[key]}


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Json:
    merged = deepcopy(dict(below))
    for key, value in above.items():
        if isinstance(value, Mapping):
            beside = merged.get(key, {})
            merged[key] = _merged(beside, value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = deepcopy(value)
    return merged
