"""When a channel is tried (N9): at most one push in 30 s for a device, and again with back-off for at most an hour."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

PUSH_EVERY: Final = timedelta(seconds=30)
FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(minutes=10)
GIVE_UP_AFTER: Final = timedelta(hours=1)


def next_push(last_sent_at: datetime | None, asked_to_wait: Sequence[datetime], now: datetime) -> datetime:
    """When the next push may go to a device.

    Args:
        last_sent_at: When one was last tried there, successfully or not.
        asked_to_wait: When its pushes that failed may be repeated; a newer one must not overtake what the service said.
        now: The present; never earlier than this.
    """
    spaced = now if last_sent_at is None else last_sent_at + PUSH_EVERY
    return max(now, spaced, *asked_to_wait)


def retry(tries: int, first_at: datetime, now: datetime, retry_after_s: float | None = None) -> datetime | None:
    """When to try again after a failure, None when it is given up.

    Args:
        tries: How many attempts have failed, at least 1.
        first_at: When the channel might first have been used; an hour later it is given up.
        now: The moment of the failure.
        retry_after_s: What the service asked for; it is never asked again before.
    """
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(max(tries, 1) - 1, 16))
    due = now + max(pause, timedelta(seconds=max(0.0, retry_after_s or 0.0)))
    return due if due <= first_at + GIVE_UP_AFTER else None
