"""How far a stop is (S3, S6): what still runs, and its end, which it reaches only when nothing does (I6)."""

from sqlalchemy import select

from domain.attempt import AttemptState
from domain.effect import EffectState
from domain.intent import INTENT, IntentEvent, IntentOutcome, IntentState, Remaining
from domain.refusal import accepted
from domain.run import RunRef
from domain.task import TaskEvent, TaskState
from domain.turn import TurnState
from store import changes, tasks
from store.ancestry import family
from store.automation_follow import tell_firings
from store.database import Transaction
from store.parents import tell_parent
from store.processes import open_processes
from store.stops import intent_row
from store.tables_authority import EffectRow
from store.tables_control import IntentRow
from store.tables_conversation import TurnRow
from store.tables_work import AttemptRow, DeliveryRow, TaskRow

_RUNNING_EFFECT = (EffectState.CLAIMED.value, EffectState.STARTED.value)


async def reconcile(tx: Transaction, intent_id: str) -> tuple[IntentRow, Remaining, list[RunRef]]:
    """Look what of an intent still runs; finish it when nothing does.

    Returns:
        The intent, what remains, and the runs of the attempts among it, which have to be told.
    """
    intent = await intent_row(tx, intent_id)
    if intent.state == IntentState.DONE.value:
        return intent, Remaining(), []
    task = await tasks.task_row(tx, intent.task_id)
    covered = await family(tx, task)
    intent.covered = sorted({*intent.covered, *(row.task_id for row in covered)})
    attempts = await _running_attempts(tx, covered)
    remaining = Remaining(
        attempts=[run.run_id for run in attempts],
        effects=await _running_effects(tx, intent.covered),
        replies=await _running_replies(tx, intent.covered),
    )
    event = IntentEvent.FINISH if remaining.nothing else IntentEvent.RECONCILE
    intent.state = accepted(INTENT.advance(IntentState(intent.state), event)).value
    if remaining.nothing:
        await _finish(tx, intent, covered)
    return intent, remaining, attempts


async def _finish(tx: Transaction, intent: IntentRow, covered: list[TaskRow]) -> None:
    for row in covered:
        if row.state == TaskState.STOPPING.value:
            tasks.advance(tx, row, TaskEvent.STOP)
            await tell_firings(tx, row)
            if row.parent_task_id is not None:
                await tell_parent(tx, row)
    stopped = intent.expected == IntentOutcome.STOPPED.value
    own = next(row for row in covered if row.task_id == intent.task_id)
    # Completion may have won the race before the stop was accepted elsewhere in the family; the task itself decides.
    won = own.state == TaskState.STOPPED.value
    intent.outcome = (
        (IntentOutcome.STOPPED if won else IntentOutcome.ALREADY_TERMINAL).value if stopped else intent.expected
    )
    intent.unsettled = list(
        await tx.session.scalars(
            select(EffectRow.effect_id).where(
                EffectRow.task_id.in_(intent.covered), EffectRow.state == EffectState.UNKNOWN.value
            )
        )
    )
    intent.done_at = tx.now
    changes.notify(tx, "tasks", task_id=intent.task_id)
    changes.notify(tx, "activity")


async def _running_attempts(tx: Transaction, covered: list[TaskRow]) -> list[RunRef]:
    running = []
    for row in covered:
        run = tasks.run_of(row)
        attempt = await tasks.attempt_row(tx, run)
        if row.state == TaskState.STOPPING.value and attempt.state == AttemptState.RUNNING.value:
            if attempt.started_at is None:
                tasks.stop_attempt(tx, attempt)
            else:
                running.append(run)
    return running


async def _running_effects(tx: Transaction, task_ids: list[str]) -> list[str]:
    query = select(EffectRow.effect_id).where(EffectRow.task_id.in_(task_ids), EffectRow.state.in_(_RUNNING_EFFECT))
    kept = [effect.effect_id for effect in await open_processes(tx, task_ids)]
    return [*await tx.session.scalars(query), *kept]


async def _running_replies(tx: Transaction, task_ids: list[str]) -> list[str]:
    query = (
        select(TurnRow.turn_id)
        .join(DeliveryRow, DeliveryRow.turn_id == TurnRow.turn_id)
        .where(
            DeliveryRow.owner_id.in_(task_ids),
            DeliveryRow.state == "cancelled",
            TurnRow.state.in_([TurnState.QUEUED.value, TurnState.RUNNING.value]),
        )
    )
    return list(await tx.session.scalars(query))


async def stop_attempt(tx: Transaction, run: RunRef) -> bool:
    """Mark a covered attempt as stopped: its workflow has let go of everything; whether it was running till now."""
    attempt = await tx.session.get(AttemptRow, (run.task_id, run.requirement_version, run.attempt))
    if attempt is None or attempt.state != AttemptState.RUNNING.value:
        return False
    tasks.stop_attempt(tx, attempt)
    return True
