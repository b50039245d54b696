"""How a question ends (T9): its row, the answer of the call that asked, and its attempt's clock, in one transaction.

Whoever moves the task moves it by itself: an answer lets it go on, an attempt's end and a stop have moved it already.
"""

import json

from sqlalchemy import select

from domain.question import QUESTION, QuestionEvent, QuestionState
from domain.refusal import Refusal, accepted
from store import changes, outbox, run_steps
from store.attempt_clock import go_on
from store.database import Transaction
from store.tables_control import QuestionRow

_CANCELLED = Refusal("question_cancelled", "The user cancelled the question without an answer. Go on without it.")
_CLOSED = Refusal("question_closed", "The question was closed.")


async def end_question(tx: Transaction, row: QuestionRow, state: QuestionState, principal: str) -> None:
    """Store how a question ended, tell the executor, and have the attempt's workflow look."""
    row.state, row.answered_by, row.settled_at = state.value, principal, tx.now
    row.revision += 1
    told = {
        QuestionState.ANSWERED: {"answer": row.answer},
        QuestionState.CANCELLED: {"error": {"code": _CANCELLED.code, "message": _CANCELLED.message}},
    }.get(state, {"error": {"code": _CLOSED.code, "message": _CLOSED.message}})
    await run_steps.finish_call(tx, row.run_id, row.step, row.place_in_step, json.dumps(told, ensure_ascii=False))
    await go_on(tx, row.task_id, row.requirement_version, row.attempt)
    outbox.post(tx, outbox.ATTEMPT_LOOK, row.run_id)
    changes.notify(tx, "questions", question_id=row.question_id)


async def close_open(tx: Transaction, task_id: str) -> bool:
    """Close the task's open question because its attempt ends or is stopped (S2, T9); whether there was one."""
    query = select(QuestionRow).where(QuestionRow.task_id == task_id, QuestionRow.state == QuestionState.OPEN.value)
    row = (await tx.session.scalars(query)).first()
    if row is None:
        return False
    await end_question(tx, row, accepted(QUESTION.advance(QuestionState.OPEN, QuestionEvent.CLOSE)), "host")
    return True
