"""The rows of grants: finding them, how they stand by the database's time, and which task holds them (A12, A15)."""

from sqlalchemy import select

from domain.grant import GrantState, grant_state
from domain.refusal import refuse
from store import audit, changes
from store.database import Transaction
from store.tables_grants import GrantRow
from store.tables_work import TaskRow

ENDED = (GrantState.EXPIRED, GrantState.REVOKED)


async def bind(tx: Transaction, grant_ref: str, task: TaskRow) -> None:
    """Bind a grant that was issued for a proposal to the first task that names it (A15).

    Raises:
        Refused: `not_found`; `authorization_requirement_mismatch` for a second use; `authorization_expired`,
            `authorization_revoked`.
    """
    grant = await grant_row(tx, grant_ref)
    state = state_of(tx, grant)
    if state in ENDED:
        raise refuse(f"authorization_{state.value}", f"This grant is {state.value}. Issue a new one.")
    if state is not GrantState.UNBOUND:
        raise refuse("authorization_requirement_mismatch", "This grant belongs to another task already.")
    await hold(tx, grant, task)
    await audit.record(tx, "grant.bind", grant.grant_id, "allow", principal="host", details={"task_id": task.task_id})


async def hold(tx: Transaction, grant: GrantRow, task: TaskRow) -> None:
    """Make a task, with its present instructions, the holder of a grant."""
    grant.task_id, grant.requirement_version = task.task_id, task.requirement_version
    task.grant_ref, task.grant_expires_at = grant.grant_id, grant.expires_at
    changes.notify(tx, "tasks", task_id=task.task_id)
    await tx.session.flush()


async def grants_of(tx: Transaction, task_id: str) -> list[GrantRow]:
    """The grants that a task holds, newest first."""
    query = select(GrantRow).where(GrantRow.task_id == task_id).order_by(GrantRow.grant_id.desc())
    return list(await tx.session.scalars(query))


async def lineage(tx: Transaction, grant: GrantRow) -> list[GrantRow]:
    """A grant and those that it was derived from, itself first."""
    found = [grant]
    while found[-1].parent_grant_id is not None:
        found.append(await tx.session.get_one(GrantRow, found[-1].parent_grant_id))
    return found


async def grant_row(tx: Transaction, grant_ref: str) -> GrantRow:
    """A grant of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    grant = await tx.session.get(GrantRow, grant_ref)
    if grant is None or (grant.user_space, grant.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such grant.")
    return grant


def state_of(tx: Transaction, grant: GrantRow) -> GrantState:
    """The grant's state by the database's time (A12)."""
    bound = grant.task_id is not None or grant.automation_id is not None
    return grant_state(bound=bound, revoked_at=grant.revoked_at, expires_at=grant.expires_at, now=tx.now)
