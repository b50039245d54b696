"""What tests do with automations in a user space of their own: made, looked at, written at the newest revision."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from domain.automation import Binding
from domain.refusal import Refused, accepted
from domain.schedule import Schedule, schedule_of
from store import automation_edits, automation_views, automations
from store.automations import NewAutomation, Write
from store.database import Transaction
from store.tables_automations import AutomationRow
from tests.control_plane import Plane

WEEKDAYS = {"cron": {"expression": "0 8 * * 1-5"}, "timezone": "Europe/Berlin"}
QUARTERS = {"every": {"seconds": 900}}


def schedule(given: dict[str, Any]) -> Schedule:
    """A schedule that is one."""
    return accepted(schedule_of(given))


def by(plane: Plane, request_id: str | None = None) -> Write:
    """A write of the owner."""
    return Write(request_id or plane.request_id(), "owner")


async def made(plane: Plane, given: dict[str, Any] | None = None, **choices: Any) -> AutomationRow:
    """A new automation; what is not chosen is ordinary."""
    grant_ref, request_id = choices.pop("grant_ref", None), choices.pop("request_id", None)
    binding = Binding(**{"title": "Morning", "instructions": "summarise notes.txt into today.md", **choices})
    new = NewAutomation(binding, schedule(given or WEEKDAYS), grant_ref)
    async with plane.database.write(plane.scope) as tx:
        return (await automations.create(tx, new, by(plane, request_id)))[1]


async def read(plane: Plane, automation_id: str) -> AutomationRow:
    """The row as it is now, deleted or not."""
    async with plane.database.read(plane.scope) as tx:
        return await automations.automation_row(tx, automation_id, deleted=True)


async def shown(plane: Plane, automation_id: str) -> dict[str, Any]:
    """The automation as the wire shows it."""
    async with plane.database.read(plane.scope) as tx:
        return await automation_views.automation_detail(tx, automation_id)


async def page(plane: Plane, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
    """A page of the list."""
    async with plane.database.read(plane.scope) as tx:
        return await automation_views.automation_page(tx, limit, cursor)


async def edit(
    plane: Plane, act: str, automation_id: str, *arguments: Any, revision: int | None = None
) -> AutomationRow:
    """Pause, resume or delete, or any other edit with its arguments, at the newest revision unless one is named."""
    seen = revision or (await read(plane, automation_id)).revision
    async with plane.database.write(plane.scope) as tx:
        written = await getattr(automation_edits, act)(tx, automation_id, seen, *arguments, by(plane))
    row: AutomationRow = written[1]
    return row


async def update(plane: Plane, automation_id: str, grant_ref: str | None = None, **fields: Any) -> AutomationRow:
    """Change some fields."""
    return await edit(plane, "update", automation_id, fields, grant_ref)


async def decided_at(plane: Plane, automation_id: str, time: datetime) -> None:
    """Have every time up to then be decided, and none after it: as after an outage since then."""
    async with plane.database.write(plane.scope) as tx:
        (await automations.automation_row(tx, automation_id)).decided_until = time


async def refusal(plane: Plane, work: Callable[[Transaction], Awaitable[Any]]) -> Refused | None:
    """How some work in a transaction is refused, None if it is not."""
    try:
        async with plane.database.write(plane.scope) as tx:
            await work(tx)
    except Refused as refused:
        return refused
    return None
