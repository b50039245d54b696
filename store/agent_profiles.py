"""Agents of the person (api.md `agents.profiles`): rows beside twin, who has none until it is changed; by revision."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from domain.agent_profile import PROFILES, TWIN, TWIN_NAME, check_instructions, check_model, check_name, may_end, works
from domain.refusal import accepted, refuse
from domain.task import ACTIVE
from store import audit, changes, receipts
from store.database import Transaction
from store.tables_attention import AgentProfileRow
from store.tables_host import ReceiptRow
from store.tables_work import TaskRow
from store.wire_time import wire_time

CREATE, UPDATE = "agents.profiles.create", "agents.profiles.update"
DISABLE, DELETE = "agents.profiles.disable", "agents.profiles.delete"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes under which request, and which model this host runs tasks with."""

    request_id: str
    principal: str
    task_model: str


async def is_enabled(tx: Transaction, agent_id: str) -> bool:
    """Whether this is an agent of the scope that works (N12)."""
    row = await _row(tx, agent_id)
    return works(agent_id, known=row is not None, disabled=row is not None and row.disabled_at is not None)


async def require_enabled(tx: Transaction, agent_id: str) -> None:
    """Insist on an agent that works.

    Raises:
        Refused: `not_found` for an unknown, foreign or disabled one, alike (P1).
    """
    if not await is_enabled(tx, agent_id):
        raise refuse("not_found", "No such agent.")


async def require_known(tx: Transaction, agent_id: str) -> None:
    """Insist on an agent of the scope, also on one that is disabled.

    Raises:
        Refused: `not_found` for an unknown or foreign one, alike (P1).
    """
    if agent_id != TWIN and await _row(tx, agent_id) is None:
        raise refuse("not_found", "No such agent.")


async def instructions_of(tx: Transaction, agent_id: str) -> str:
    """What the agent is told with each of its tasks; empty for one that is gone or was told nothing."""
    row = await _row(tx, agent_id)
    return "" if row is None else row.instructions


async def profiles_view(tx: Transaction) -> Json:
    """All agents, twin first; there are at most 200, so they are one page."""
    query = (
        select(AgentProfileRow)
        .where(AgentProfileRow.user_space == tx.scope.user_space, AgentProfileRow.domain == tx.scope.domain)
        .order_by(AgentProfileRow.agent_id)
    )
    rows = {row.agent_id: row for row in await tx.session.scalars(query)}
    twin = rows.pop(TWIN, None) or _new_row(tx, TWIN, TWIN_NAME, revision=0)
    return {"items": [profile_view(row) for row in (twin, *rows.values())], "next_cursor": None}


def profile_view(row: AgentProfileRow) -> Json:
    """An agent as clients see it."""
    return {
        "agent_id": row.agent_id,
        "name": row.name,
        "instructions": row.instructions,
        "model": row.model,
        "enabled": row.disabled_at is None,
        "revision": row.revision,
        "created_at": wire_time(row.created_at) if row.revision else None,
        "updated_at": wire_time(row.updated_at) if row.revision else None,
    }


async def create(
    tx: Transaction, name: str, instructions: str, model: str | None, write: Write
) -> tuple[ReceiptRow, AgentProfileRow | None]:
    """Make an agent, or return the one of the same request: None when it has been deleted since (I2).

    Raises:
        Refused: `invalid_params` (a limit, or more than 199 agents), `request_id_conflict`.
    """
    content = {"name": name, "instructions": instructions, "model": model}
    earlier = await receipts.repeated(tx, write.request_id, CREATE, content)
    if earlier is not None:
        return earlier, await _row(tx, earlier.subject_id or "")
    accepted(check_name(name))
    accepted(check_instructions(instructions))
    accepted(check_model(model, write.task_model))
    query = select(func.count()).where(
        AgentProfileRow.user_space == tx.scope.user_space,
        AgentProfileRow.domain == tx.scope.domain,
        AgentProfileRow.agent_id != TWIN,
    )
    if (await tx.session.scalar(query) or 0) >= PROFILES:
        raise refuse("invalid_params", f"There are {PROFILES} agents already. Delete one first.", limit=PROFILES)
    row = _new_row(tx, tx.new_id("agent"), name, revision=1)
    row.instructions, row.model = instructions, model
    tx.session.add(row)
    return await _written(tx, CREATE, content, row, write), row


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """What is to be changed; None leaves a part as it is."""

    name: str | None = None
    instructions: str | None = None
    model: str | None = None
    enabled: bool | None = None


async def update(
    tx: Transaction, agent_id: str, expected_revision: int, change: ProfileChange, write: Write
) -> tuple[ReceiptRow, AgentProfileRow | None]:
    """Change an agent; `enabled` takes a disabled one back into work. Twin gets its row by the first change.

    A repeated request has the agent as it is now: None when it has been deleted since (I2).

    Raises:
        Refused: `not_found`, `revision_conflict`, `invalid_params`, `request_id_conflict`.
    """
    content = {
        "agent_id": agent_id, "expected_revision": expected_revision, "name": change.name,
        "instructions": change.instructions, "model": change.model, "enabled": change.enabled,
    }  # fmt: skip
    earlier = await receipts.repeated(tx, write.request_id, UPDATE, content)
    if earlier is not None:
        return earlier, await _row(tx, agent_id)
    row = await _at_revision(tx, agent_id, expected_revision)
    if change.name is not None:
        row.name = accepted(check_name(change.name))
    if change.instructions is not None:
        row.instructions = accepted(check_instructions(change.instructions))
    if change.model is not None:
        row.model = accepted(check_model(change.model, write.task_model))
    if change.enabled is False:
        _may_end(agent_id)
    if change.enabled is not None:
        row.disabled_at = None if change.enabled else row.disabled_at or tx.now
    return await _changed(tx, UPDATE, content, row, write), row


async def disable(
    tx: Transaction, agent_id: str, expected_revision: int, write: Write
) -> tuple[ReceiptRow, AgentProfileRow | None]:
    """Disable an agent: it is given no new tasks, and what it has to say late is not announced (N12).

    Returns:
        As `update`.

    Raises:
        Refused: as `update`; `invalid_params` for twin.
    """
    content = {"agent_id": agent_id, "expected_revision": expected_revision}
    earlier = await receipts.repeated(tx, write.request_id, DISABLE, content)
    if earlier is not None:
        return earlier, await _row(tx, agent_id)
    _may_end(agent_id)
    row = await _at_revision(tx, agent_id, expected_revision)
    row.disabled_at = row.disabled_at or tx.now
    return await _changed(tx, DISABLE, content, row, write), row


async def delete(tx: Transaction, agent_id: str, expected_revision: int, write: Write) -> ReceiptRow:
    """Delete an agent; its ended tasks stay.

    Raises:
        Refused: as `update`; `invalid_params` for twin; `task_active` while one of its tasks has not ended.
    """
    content = {"agent_id": agent_id, "expected_revision": expected_revision}
    earlier = await receipts.repeated(tx, write.request_id, DELETE, content)
    if earlier is not None:
        return earlier
    _may_end(agent_id)
    row = await _at_revision(tx, agent_id, expected_revision)
    active = select(TaskRow.task_id).where(
        TaskRow.user_space == tx.scope.user_space,
        TaskRow.domain == tx.scope.domain,
        TaskRow.agent_id == agent_id,
        TaskRow.state.in_([state.value for state in ACTIVE]),
    )
    if await tx.session.scalar(active.limit(1)) is not None:
        raise refuse("task_active", "A task of this agent has not ended. Stop it first, or disable the agent.")
    await tx.session.delete(row)
    return await _written(tx, DELETE, content, row, write)


async def profile_row(tx: Transaction, agent_id: str) -> AgentProfileRow:
    """An agent's row, made for twin where there is none.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    row = await _row(tx, agent_id)
    if row is not None:
        return row
    if agent_id != TWIN:
        raise refuse("not_found", "No such agent.")
    row = _new_row(tx, TWIN, TWIN_NAME, revision=0)
    tx.session.add(row)
    return row


async def _row(tx: Transaction, agent_id: str) -> AgentProfileRow | None:
    return await tx.session.get(AgentProfileRow, (tx.scope.user_space, tx.scope.domain, agent_id))


async def _at_revision(tx: Transaction, agent_id: str, expected: int) -> AgentProfileRow:
    row = await profile_row(tx, agent_id)
    if row.revision != expected:
        message = f"The agent was changed meanwhile: it is at revision {row.revision}. Read it again."
        raise refuse("revision_conflict", message, revision=row.revision)
    return row


def _new_row(tx: Transaction, agent_id: str, name: str, *, revision: int) -> AgentProfileRow:
    return AgentProfileRow(
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        agent_id=agent_id,
        name=name,
        instructions="",
        model=None,
        revision=revision,
        created_at=tx.now,
        updated_at=tx.now,
        disabled_at=None,
    )


def _may_end(agent_id: str) -> None:
    refusal = may_end(agent_id)
    if refusal is not None:
        accepted(refusal)


async def _changed(tx: Transaction, method: str, content: Json, row: AgentProfileRow, write: Write) -> ReceiptRow:
    row.revision, row.updated_at = row.revision + 1, tx.now
    return await _written(tx, method, content, row, write)


async def _written(tx: Transaction, method: str, content: Json, row: AgentProfileRow, write: Write) -> ReceiptRow:
    # Which agent and which revision, not what it is told or called: that is the person's own (I9).
    kind, details = method.removeprefix("agents."), {"revision": row.revision}
    await audit.record(tx, kind, row.agent_id, "allow", principal=write.principal, details=details)
    receipt = await receipts.accept(tx, write.request_id, method, content, principal=write.principal)
    receipt.subject_id = row.agent_id
    changes.notify(tx, "settings")
    return receipt
