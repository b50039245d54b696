"""When an automation runs, as it is asked for and stored (U2): one time, an interval, or a cron expression in a zone.

The hard thing is one form for equal schedules: what is read is put into its stored form, which reads as itself again.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Final, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from domain.refusal import Detail, Refusal
from domain.schedule_cron import CronFields, cron_fields, plain_expression
from domain.visible_text import make_visible
from domain.wall_time import ZONE_CHARACTERS, first_instant, is_zone

LONGEST_INTERVAL_S: Final = 10 * 366 * 24 * 3600
FIRST_YEAR: Final = 1970
LAST_YEAR_OF_ONE_TIME: Final = 8999
KINDS: Final = ("once", "every", "cron")

_AT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}(:[0-9]{2})?)(\.0{1,9})?([Zz]|[+-][0-9]{2}:?[0-9]{2})?"
)
_FIELD_CHARACTERS: Final = 100
_LARGEST: Final = 2**53
"""JSON numbers below this are exact everywhere."""
_LIMITS: Final = ("limit", "ge", "le", "gt", "lt", "max_length", "min_length")


def _fault(kind: str, words: str, **context: int | str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{words}", {"words": words, **context})


def _zone_name(name: str) -> str:
    if not is_zone(name):
        raise _fault("zone", "this is no IANA time zone; name one such as Europe/Berlin, Asia/Shanghai or UTC")
    return name


def _one_time(text: str) -> str:
    found = _AT.fullmatch(text)
    try:
        at = datetime.fromisoformat(f"{found[1]}T{found[2]}{(found[5] or '').upper()}") if found else None
    except ValueError:
        at = None
    if at is None:
        words = "this is no time in whole seconds; write it like 2027-03-01T08:00 or 2027-03-01T08:00:00+01:00"
        raise _fault("time", words)
    _check_year(at)
    if at.tzinfo is None:
        return at.isoformat()
    instant = at.astimezone(UTC).replace(tzinfo=None)
    _check_year(instant)
    return f"{instant.isoformat()}Z"


def _check_year(at: datetime) -> None:
    if not FIRST_YEAR <= at.year <= LAST_YEAR_OF_ONE_TIME:
        words = f"the year has to be from {FIRST_YEAR} to {LAST_YEAR_OF_ONE_TIME}"
        raise _fault("time", words, limit=LAST_YEAR_OF_ONE_TIME, value=at.year)


def _expression(text: str) -> str:
    fields = cron_fields(text)
    if isinstance(fields, Refusal):
        numbers = {name: value for name, value in fields.details.items() if isinstance(value, int)}
        raise _fault("cron", fields.message, **numbers)
    return plain_expression(text)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Once(_Strict):
    """One time: with an offset it is that instant, without one it is wall time in the schedule's zone."""

    at: Annotated[str, AfterValidator(_one_time)]

    @property
    def is_local(self) -> bool:
        """Whether the zone decides which instant it is."""
        return not self.at.endswith("Z")


class Every(_Strict):
    """A fixed interval in seconds, counted from the Unix epoch plus `offset_s` seconds; zones do not matter to it."""

    seconds: Annotated[int, Field(ge=1, le=LONGEST_INTERVAL_S)]
    offset_s: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _offset_below_interval(self) -> Self:
        if self.offset_s >= self.seconds:
            words = f"offset_s has to be smaller than seconds ({self.seconds}); this is {self.offset_s}"
            raise _fault("offset", words, limit=self.seconds - 1, value=self.offset_s)
        return self


class Cron(_Strict):
    """Five cron fields, read as wall time in the schedule's zone."""

    expression: Annotated[str, AfterValidator(_expression)]

    @property
    def fields(self) -> CronFields:
        """What the expression names; it has been read before."""
        fields = cron_fields(self.expression)
        assert not isinstance(fields, Refusal)
        return fields


class Schedule(_Strict):
    """Exactly one of the three kinds, and an IANA zone; without a zone it is UTC, where no zone is needed (U2)."""

    once: Once | None = None
    every: Every | None = None
    cron: Cron | None = None
    timezone: Annotated[str, Field(min_length=1, max_length=ZONE_CHARACTERS), AfterValidator(_zone_name)] = "UTC"

    @model_validator(mode="after")
    def _one_kind_with_its_zone(self) -> Self:
        named = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(named) != 1:
            raise _fault("kind", "name exactly one of once, every and cron", limit=1, value=len(named))
        by_wall_time = self.cron is not None or (self.once is not None and self.once.is_local)
        if by_wall_time and "timezone" not in self.model_fields_set:
            raise _fault("zone_missing", "name the IANA time zone that this time is meant in, such as Europe/Berlin")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The table of the zone."""
        return ZoneInfo(self.timezone)

    @property
    def one_time(self) -> datetime | None:
        """The UTC instant of a one-off schedule (U2); None for the recurring kinds."""
        if self.once is None:
            return None
        at = datetime.fromisoformat(self.once.at)
        return first_instant(self.zone, at) if self.once.is_local else at.astimezone(UTC)

    def stored(self) -> dict[str, JsonValue]:
        """The schedule as JSON, for rows and the wire: equal schedules are equal here, and it reads as itself."""
        return self.model_dump(mode="json", exclude_none=True)


def schedule_of(given: object) -> Schedule | Refusal:
    """Read a schedule as it came over the wire, from a model, or from a row.

    Returns:
        `invalid_params` for what is none; the message and `field` say where, `limit` and `value` what was exceeded.
    """
    try:
        return Schedule.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    field = make_visible(".".join(["schedule", *map(str, fault["loc"])])[:_FIELD_CHARACTERS], keep="")
    context = fault.get("ctx", {})
    details: dict[str, Detail] = {"field": field}
    limit = next((context[name] for name in _LIMITS if name in context), None)
    is_length = fault["type"] in ("string_too_short", "string_too_long")
    value = len(fault["input"]) if is_length else context.get("value", fault["input"])
    if isinstance(limit, int):
        details["limit"] = limit
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST:
            details["value"] = value
    words = "this field is not known; leave it out" if fault["type"] == "extra_forbidden" else fault["msg"]
    return Refusal("invalid_params", f"{field}: {words}.", details)
