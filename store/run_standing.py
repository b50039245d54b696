"""How the run behind an effect stands now: is it still the one that asked, and does a stop cover it (I3, S1, A13).

The hard thing is that a parked turn's loop goes on under other turn ids: the run's newest turn is the one that counts.
"""

from dataclasses import dataclass

from sqlalchemy import select

from contracts.names import attempt_workflow, turn_workflow
from domain.attempt import AttemptState
from domain.task import TaskState
from domain.turn import TurnState
from store.database import Transaction
from store.tables_authority import EffectRow
from store.tables_conversation import TurnRow
from store.tables_work import AttemptRow, TaskRow

_LIVE_TURN = (TurnState.QUEUED, TurnState.RUNNING, TurnState.PARKED)
_STOPPED_TASK = (TaskState.STOPPING, TaskState.STOPPED)


@dataclass(frozen=True, slots=True)
class RunStanding:
    """What the gate asks about a run.

    Attributes:
        live: it is the current run: a turn (or its continuation) that has not ended, a running attempt of the task's
            current requirement version.
        stopped: a stop covers the turn, or the task or one of its ancestors.
        principal: on whose behalf it runs, for the audit chain.
        workflow_id: the workflow that waits for the run's effects; None when none does.
        parked: its newest turn is parked, so a decision has to queue a continuation (C1).
    """

    live: bool
    stopped: bool
    agent_id: str
    permission_mode: str
    principal: str
    workflow_id: str | None = None
    parked: bool = False


_GONE = RunStanding(live=False, stopped=False, agent_id="", permission_mode="", principal="host")


async def run_standing(tx: Transaction, effect: EffectRow) -> RunStanding:
    """Read how the run of an effect stands; a run that cannot be found is not live."""
    if effect.task_id is not None:
        return await _attempt_standing(tx, effect)
    query = select(TurnRow).where(
        TurnRow.user_space == tx.scope.user_space, TurnRow.domain == tx.scope.domain, TurnRow.run_id == effect.run_id
    )
    turns = (await tx.session.scalars(query.order_by(TurnRow.position.desc()))).all()
    if not turns:
        return _GONE
    newest = turns[0]
    live = newest.state in _LIVE_TURN
    return RunStanding(
        live=live,
        stopped=any(turn.stop_requested_at is not None or turn.state == TurnState.STOPPED for turn in turns),
        agent_id=newest.agent_id,
        permission_mode=newest.permission_mode,
        principal=newest.principal,
        workflow_id=turn_workflow(newest.turn_id) if live else None,
        parked=newest.state == TurnState.PARKED,
    )


async def _attempt_standing(tx: Transaction, effect: EffectRow) -> RunStanding:
    task = await _task(tx, effect.task_id)
    attempt = await tx.session.get(AttemptRow, (effect.task_id, effect.requirement_version, effect.attempt))
    if task is None or attempt is None:
        return _GONE
    current = (task.requirement_version, task.attempt) == (effect.requirement_version, effect.attempt)
    running = attempt.state == AttemptState.RUNNING
    return RunStanding(
        live=current and running,
        stopped=await _stop_covers(tx, task),
        agent_id=task.agent_id,
        permission_mode=task.permission_mode,
        principal=f"task:{task.task_id}",
        workflow_id=attempt_workflow(task.task_id, attempt.requirement_version, attempt.attempt) if running else None,
    )


async def _stop_covers(tx: Transaction, task: TaskRow) -> bool:
    # By ancestry at each check, not from a snapshot (S2): a stop of a parent covers what was started since.
    above: TaskRow | None = task
    while above is not None:
        if above.state in _STOPPED_TASK:
            return True
        above = await _task(tx, above.parent_task_id)
    return False


async def _task(tx: Transaction, task_id: str | None) -> TaskRow | None:
    found = await tx.session.get(TaskRow, task_id) if task_id is not None else None
    if found is None or (found.user_space, found.domain) != (tx.scope.user_space, tx.scope.domain):
        return None
    return found
