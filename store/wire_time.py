"""Times as the wire shows them: RFC 3339 in UTC with milliseconds (api.md)."""

from datetime import UTC, datetime

from store.columns import UNREADABLE


def wire_time(time: datetime) -> str:
    """A point in time for the wire."""
    utc = time.astimezone(UTC)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{utc.microsecond // 1000:03d}Z"


def wire_time_or_none(time: datetime | None) -> str | None:
    """The same where there may be none, or none that can be read."""
    return None if time in (None, UNREADABLE) else wire_time(time)
