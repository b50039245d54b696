"""Which of some runs a stop covers: read often, so it costs two indexed reads for all of them."""

from collections.abc import Collection, Sequence

from sqlalchemy import select

from domain.attempt import AttemptState
from domain.run import RunKind, RunRef
from domain.task import TaskState
from store.database import Transaction
from store.tables_conversation import TurnRow
from store.tables_work import AttemptRow, TaskRow


async def stopped_among(tx: Transaction, runs: Sequence[RunRef]) -> list[RunRef]:
    """The runs that a stop covers, or that something else has ended (S1, S8)."""
    turns = {run.turn_id for run in runs if run.kind is RunKind.TURN}
    tasks = {run.task_id for run in runs if run.kind is RunKind.ATTEMPT}
    stopped_turns = await _stopped_turns(tx, turns) if turns else set()
    stopped_attempts = await _stopped_attempts(tx, tasks) if tasks else set()
    return [
        run
        for run in runs
        if run.turn_id in stopped_turns or (run.task_id, run.requirement_version, run.attempt) in stopped_attempts
    ]


async def _stopped_turns(tx: Transaction, turns: Collection[str | None]) -> set[str]:
    query = select(TurnRow.turn_id).where(TurnRow.turn_id.in_(turns), TurnRow.stop_requested_at.is_not(None))
    return set(await tx.session.scalars(query))


async def _stopped_attempts(tx: Transaction, tasks: Collection[str | None]) -> set[tuple[str, int, int]]:
    query = (
        select(AttemptRow.task_id, AttemptRow.requirement_version, AttemptRow.attempt)
        .join(TaskRow, TaskRow.task_id == AttemptRow.task_id)
        .where(
            AttemptRow.task_id.in_(tasks),
            (TaskRow.state == TaskState.STOPPING.value) | (AttemptRow.state != AttemptState.RUNNING.value),
        )
    )
    return {(task, version, number) for task, version, number in await tx.session.execute(query)}
