"""`agents.audit.list`: every decision of this user space, newest first (A14)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import DEFAULT_PAGE, Cursor, Limit, Params
from host.services import Services
from store import audit_views


def _point_in_time(value: object) -> datetime:
    """Read a time of the wire; one without an offset is no point in time."""
    try:
        if not isinstance(value, str) or (time := datetime.fromisoformat(value)).tzinfo is None:
            raise ValueError
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a time with an offset, for example 2026-01-31T08:00:00.000Z") from None


Kind = Annotated[str, StringConstraints(pattern=r"^[a-z_]+(\.[a-z_]+)*$", max_length=64)]
Time = Annotated[datetime, BeforeValidator(_point_in_time)]


class AuditList(Params):
    """`agents.audit.list`."""

    since: Time | None = None
    kind: Kind | None = None
    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


async def list_decisions(services: Services, call: Call[AuditList]) -> Result:
    """A page of decisions."""
    wanted = call.params
    async with services.reading() as tx:
        return await audit_views.audit_page(tx, wanted.limit, wanted.cursor, since=wanted.since, kind=wanted.kind)


METHODS: Mapping[str, Method] = {"agents.audit.list": Method(list_decisions, AuditList)}
