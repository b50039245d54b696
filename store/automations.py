"""Automations as rows (U1): found, created, and every write of one told to whoever follows it.

Whatever changes a row posts `automation.sync`: the row is the truth, and Temporal's schedule is made to follow it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import func, select

from domain.automation import MOST_ACTIVE, AutomationState, Binding, check_binding, check_to_come
from domain.grant import GrantState
from domain.occurrences import next_instants
from domain.refusal import accepted, refuse
from domain.schedule import Schedule, schedule_of
from store import agent_profiles, audit, changes, outbox, receipts
from store.columns import UNREADABLE
from store.database import Transaction
from store.grant_rows import ENDED, grant_row, state_of
from store.tables_automations import AutomationRow
from store.tables_host import ReceiptRow

CREATE: Final = "agents.automations.create"
TOPIC: Final = "automations"


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes, and under which request."""

    request_id: str
    principal: str


@dataclass(frozen=True, slots=True)
class NewAutomation:
    """An automation as it is asked for (U1); `source` names the session and sequences of the genuine inputs (T2)."""

    binding: Binding
    schedule: Schedule
    grant_ref: str | None = None
    source: tuple[str, tuple[int, ...]] | None = None


async def create(tx: Transaction, new: NewAutomation, write: Write) -> tuple[ReceiptRow, AutomationRow]:
    """Create an automation, or return that of the same request (I1, I2, U1).

    Raises:
        Refused: `invalid_params` for the binding, a time that has passed or too many automations; `engine_unavailable`;
            `not_found` for an agent or grant; what `bind` refuses; `request_id_conflict`.
    """
    content = {**asdict(new.binding), "schedule": new.schedule.stored(), "grant_ref": new.grant_ref}
    earlier = await receipts.repeated(tx, write.request_id, CREATE, content)
    if earlier is not None:
        return earlier, await automation_row(tx, earlier.subject_id or "", deleted=True)
    row = await insert(tx, new, write.principal)
    return await written(tx, CREATE, content, row, write), row


async def insert(tx: Transaction, new: NewAutomation, principal: str) -> AutomationRow:
    """Add the row of a new automation, active and at revision 1; its receipt is the caller's business.

    Raises:
        Refused: as `create`.
    """
    binding = accepted(check_binding(new.binding))
    await agent_profiles.require_enabled(tx, binding.agent_id)
    accepted(check_to_come(new.schedule, tx.now))
    await check_room(tx)
    session_id, seqs = new.source or (None, ())
    row = AutomationRow(
        automation_id=tx.new_id("automation"), binding_id=tx.new_id("binding"),
        user_space=tx.scope.user_space, domain=tx.scope.domain, **asdict(binding), schedule=new.schedule.stored(),
        state=AutomationState.ACTIVE.value, revision=1, schedule_revision=1, binding_revision=1, failures=0,
        decided_until=tx.now, source_session_id=session_id, source_seqs=list(seqs), created_by=principal,
        created_at=tx.now, updated_at=tx.now,
    )  # fmt: skip
    tx.session.add(row)
    await tx.session.flush()
    if new.grant_ref is not None:
        await bind(tx, new.grant_ref, row)
    return row


async def bind(tx: Transaction, grant_ref: str, row: AutomationRow) -> None:
    """Bind a grant that nothing holds yet to what an automation does now (A15): once.

    Raises:
        Refused: `not_found`; `authorization_requirement_mismatch` for a second use; `authorization_expired`,
            `authorization_revoked`.
    """
    grant = await grant_row(tx, grant_ref)
    state = state_of(tx, grant)
    if state in ENDED:
        raise refuse(f"authorization_{state.value}", f"This grant is {state.value}. Issue a new one.")
    if state is not GrantState.UNBOUND:
        raise refuse("authorization_requirement_mismatch", "This grant belongs to other work already.")
    grant.automation_id, grant.binding_revision = row.automation_id, row.binding_revision
    row.grant_ref = grant.grant_id
    changes.notify(tx, "grants")
    await audit.record(
        tx, "grant.bind", grant.grant_id, "allow", principal="host", details={"automation_id": row.automation_id}
    )


async def check_room(tx: Transaction) -> None:
    """Refuse one more active automation where there are as many as may be.

    Raises:
        Refused: `invalid_params` with the limit.
    """
    query = select(func.count()).where(
        AutomationRow.user_space == tx.scope.user_space,
        AutomationRow.domain == tx.scope.domain,
        AutomationRow.state == AutomationState.ACTIVE.value,
    )
    active = await tx.session.scalar(query) or 0
    if active >= MOST_ACTIVE:
        message = f"There are {active} active automations; at most {MOST_ACTIVE} may be. Pause or delete one."
        raise refuse("invalid_params", message, limit=MOST_ACTIVE, value=active + 1)


async def automation_row(tx: Transaction, automation_id: str, *, deleted: bool = False) -> AutomationRow:
    """An automation of this scope; a deleted one only where `deleted` says so.

    Raises:
        Refused: `not_found` for an unknown, foreign or deleted one (P1).
    """
    row = await tx.session.get(AutomationRow, automation_id)
    foreign = row is None or (row.user_space, row.domain) != (tx.scope.user_space, tx.scope.domain)
    if row is None or foreign or (row.state == AutomationState.DELETED.value and not deleted):
        raise refuse("not_found", "No such automation.")
    return row


def binding_of(row: AutomationRow) -> Binding:
    """What a row is bound to do."""
    return Binding(
        title=row.title, instructions=row.instructions, agent_id=row.agent_id, engine=row.engine,
        permission_mode=row.permission_mode, mode=row.mode, overlap=row.overlap, catchup_s=row.catchup_s,
    )  # fmt: skip


def schedule_of_row(row: AutomationRow) -> Schedule:
    """When a row fires.

    Raises:
        Refused: `invalid_params` for a row whose schedule or times this version cannot read (U8).
    """
    schedule = accepted(schedule_of(row.schedule))
    if row.decided_until == UNREADABLE:
        # From when on it would fire is not known; a new schedule counts from the moment at which it is given.
        raise refuse("invalid_params", "The times of this automation cannot be read. Give it its schedule again.")
    return schedule


def times_to_come(row: AutomationRow, now: datetime, count: int) -> list[datetime]:
    """The next instants at which an active automation fires; none of one that does not.

    Raises:
        Refused: as `schedule_of_row`.
    """
    if row.state != AutomationState.ACTIVE.value:
        return []
    return next_instants(schedule_of_row(row), max(now, row.decided_until), count)


async def written(
    tx: Transaction, method: str, content: Mapping[str, Any], row: AutomationRow, write: Write
) -> ReceiptRow:
    """Record, tell and post a write that the row has taken; its receipt."""
    row.updated_at = tx.now
    await tx.session.flush()
    announce(tx, row)
    kind = f"automation.{method.rpartition('.')[2]}"
    # Which revision it is and how it stands; its title, work and times are the person's own (I9).
    details = {
        "state": row.state, "revision": row.revision, "binding_revision": row.binding_revision,
        "schedule_revision": row.schedule_revision,
    }  # fmt: skip
    await audit.record(tx, kind, row.automation_id, "allow", principal=write.principal, details=details)
    receipt = await receipts.accept(tx, write.request_id, method, content, principal=write.principal)
    receipt.subject_id = row.automation_id
    return receipt


def announce(tx: Transaction, row: AutomationRow) -> None:
    """Tell clients that an automation changed, and have its schedule follow the row (U1)."""
    changes.notify(tx, TOPIC)
    outbox.post(tx, outbox.AUTOMATION_SYNC, row.automation_id)
