"""Stored steps of runs (T10): every model answer and tool result once, and what follows from them."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import defer

from contracts.model_io import ModelReply
from domain.attempt import AttemptState
from domain.refusal import Refusal, refuse
from domain.run import Bounds, Following, Place, RunKind, RunRef, StoredCall, StoredStep, what_follows
from domain.task import TaskState
from domain.turn import TurnState
from store import run_events
from store.database import Transaction
from store.tables_conversation import TurnRow
from store.tables_work import AttemptRow, CallRow, StepRow, TaskRow

STOPPED = ("turn_stopped", "task_stopped")


@dataclass(frozen=True, slots=True)
class Step:
    """A stored model step with its calls in order."""

    row: StepRow
    calls: tuple[CallRow, ...]


# Built once: a statement that is built anew costs as much as its execution.
_STEPS = (
    select(StepRow)
    # The record of what a model was shown is long, and nobody who goes on with a run reads it.
    .options(defer(StepRow.context, raiseload=True))
    .where(StepRow.run_id.in_(bindparam("run_ids", expanding=True)))
    .order_by(StepRow.run_id, StepRow.number)
)
_CALLS = (
    select(CallRow)
    .where(CallRow.run_id.in_(bindparam("run_ids", expanding=True)))
    .order_by(CallRow.run_id, CallRow.step, CallRow.place_in_step)
)


async def steps_of(tx: Transaction, run_ids: Sequence[str]) -> dict[str, list[Step]]:
    """All stored steps of some runs, in order."""
    asked = {"run_ids": list(run_ids)}
    rows = (await tx.session.scalars(_STEPS, asked)).all()
    if not rows:
        return defaultdict(list)
    calls: dict[tuple[str, int], list[CallRow]] = defaultdict(list)
    for call in await tx.session.scalars(_CALLS, asked):
        calls[call.run_id, call.step].append(call)
    steps: dict[str, list[Step]] = defaultdict(list)
    for row in rows:
        steps[row.run_id].append(Step(row, tuple(calls[row.run_id, row.number])))
    return steps


async def steps_of_run(tx: Transaction, run: RunRef) -> list[Step]:
    """All stored steps of one run, in order."""
    return (await steps_of(tx, [run.run_id]))[run.run_id]


async def following(tx: Transaction, run: RunRef, bounds: Bounds, stored: Sequence[Step] | None = None) -> Following:
    """What follows in a run, from its rows alone: recovery and ordinary progress ask the same (T10).

    `stored` are the run's steps where this transaction has read them: rows that it changes itself tell their change.
    """
    steps = tuple(_pure(step) for step in (await steps_of_run(tx, run) if stored is None else stored))
    ended, state, reason, seconds = await _standing(tx, run)
    if ended and reason in STOPPED and (waiting := _open_effect(steps)) is not None:
        return waiting
    answer = what_follows(run.kind, steps, ended=ended, bounds=bounds, active_seconds=seconds)
    return answer.model_copy(update={"reason": reason, "state": state}) if ended else answer


def _pure(step: Step) -> StoredStep:
    return StoredStep(
        step.row.number,
        tuple(
            StoredCall(
                call.place_in_step,
                Place(call.place),
                call.result is not None,
                call.effect_id,
                call.question_id,
                call.child_task_id,
            )
            for call in step.calls
        ),
    )


def _open_effect(steps: Sequence[StoredStep]) -> Following | None:
    # A stop does not recall a started effect (S6): the run waits for its outcome before it ends.
    for call in steps[-1].calls if steps else ():
        if call.effect_id is not None and not call.done:
            return Following(
                kind="effect", step=steps[-1].number, index=call.index, place=call.place, effect_id=call.effect_id
            )
    return None


async def _standing(tx: Transaction, run: RunRef) -> tuple[bool, str | None, str | None, float]:
    """Whether the run has ended, the ended attempt's state, the reason, and the active seconds so far."""
    if run.kind is RunKind.TURN:
        turn = await tx.session.get(TurnRow, run.turn_id)
        if turn is None or turn.state != TurnState.RUNNING.value:
            return True, None, None, 0.0
        stopping = turn.stop_requested_at is not None
        return stopping, None, "turn_stopped" if stopping else None, 0.0
    attempt = await tx.session.get(AttemptRow, (run.task_id, run.requirement_version, run.attempt))
    if attempt is None:
        return True, None, None, 0.0
    if attempt.state != AttemptState.RUNNING.value:
        return True, attempt.state, attempt.reason, 0.0
    task = await tx.session.get_one(TaskRow, run.task_id)
    if task.state == TaskState.STOPPING.value:
        return True, None, "task_stopped", 0.0
    return False, None, None, _active_seconds(attempt, tx.now)


def _active_seconds(attempt: AttemptRow, now: datetime) -> float:
    if attempt.started_at is None:
        return 0.0
    waiting = (now - attempt.waiting_since).total_seconds() if attempt.waiting_since else 0.0
    return (now - attempt.started_at).total_seconds() - attempt.waited_seconds - waiting


async def store_step(
    tx: Transaction, run: RunRef, number: int, reply: ModelReply, places: Sequence[Place], context: dict[str, Any]
) -> Step:
    """Store a model's answer once; the caller has seen in this transaction that the step is the one that follows."""
    step = StepRow(
        run_id=run.run_id,
        number=number,
        turn_id=run.turn_id,
        text=reply.text,
        response_json=reply.response_json,
        model=reply.model,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        context=context,
        created_at=tx.now,
    )
    calls = tuple(
        CallRow(
            run_id=run.run_id,
            step=number,
            place_in_step=index,
            call_id=call.call_id,
            name=call.name,
            arguments=call.arguments,
            place=place.value,
        )
        for index, (call, place) in enumerate(zip(reply.calls, places, strict=True))
    )
    tx.session.add_all((step, *calls))
    await run_events.record(
        tx,
        run.run_id,
        "model",
        "model_step",
        f"Model step {number}",
        "completed",
        details={"step": number, "calls": len(reply.calls), "output_tokens": reply.output_tokens},
    )
    return Step(step, calls)


async def call_row(tx: Transaction, run_id: str, step: int, index: int) -> CallRow:
    """One stored tool call."""
    call = await tx.session.get(CallRow, (run_id, step, index))
    if call is None:
        raise refuse("not_found", "No such tool call.")
    return call


async def finish_call(tx: Transaction, run_id: str, step: int, index: int, result: str) -> None:
    """Store what the model is told of a call; a call that has its result keeps it (I7)."""
    call = await call_row(tx, run_id, step, index)
    if call.result is not None:
        return
    call.result = result
    call.ended_at = tx.now
    refused = result.startswith('{"error"')
    await run_events.record(
        tx,
        run_id,
        "tool",
        call.name if call.name.isidentifier() else "tool",
        "Tool call",
        "failed" if refused else "completed",
        details={"step": step},
    )


async def refuse_later_calls(tx: Transaction, run_id: str, step: int, index: int, refusal: Refusal) -> None:
    """Answer every later call of a step with a refusal: the step is not carried out beyond this call (T8)."""
    query = select(CallRow).where(CallRow.run_id == run_id, CallRow.step == step, CallRow.place_in_step > index)
    told = json.dumps({"error": {"code": refusal.code, "message": refusal.message}}, ensure_ascii=False)
    for call in await tx.session.scalars(query):
        await finish_call(tx, run_id, step, call.place_in_step, told)
