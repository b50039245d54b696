"""Which of some runs a stop covers: read often, so it costs two indexed reads for all of them."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.attempt import AttemptState
from domain.run import RunKind, RunRef
from domain.task import TaskState
from store.database import Transaction
from store.tables_conversation import TurnRow
from store.tables_work import AttemptRow, TaskRow


async def stopped_among(tx: Transaction, runs: Sequence[RunRef]) -> list[RunRef]:
    """The runs that a stop covers, or that something else has ended (S1, S8)."""
    turns = [run.turn_id for run in runs if run.kind is RunKind.TURN]
    stopped_turns = set(
        await tx.session.scalars(
            select(TurnRow.turn_id).where(TurnRow.turn_id.in_(turns), TurnRow.stop_requested_at.is_not(None))
        )
    )
    tasks = [run.task_id for run in runs if run.kind is RunKind.ATTEMPT]
    query = (
        select(AttemptRow.task_id, AttemptRow.requirement_version, AttemptRow.attempt)
        .join(TaskRow, TaskRow.task_id == AttemptRow.task_id)
        .where(
            AttemptRow.task_id.in_(tasks),
            (TaskRow.state == TaskState.STOPPING.value) | (AttemptRow.state != AttemptState.RUNNING.value),
        )
    )
    stopped_attempts = {tuple(row) for row in await tx.session.execute(query)}
    return [
        run
        for run in runs
        if run.turn_id in stopped_turns or (run.task_id, run.requirement_version, run.attempt) in stopped_attempts
    ]
