"""Questions to the user (T7-T9): opened by an attempt's call, settled once, in the transaction that lets it go on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain import question
from domain.delivery import DeliveryKind
from domain.limits import check_text
from domain.question import QuestionEvent, QuestionState
from domain.refusal import Refusal, accepted, refuse
from domain.run import RunRef
from domain.task import TaskEvent, TaskState
from store import changes, deliveries, receipts, run_steps, tasks
from store.attempt_clock import stand_still
from store.database import Transaction
from store.question_ends import end_question
from store.tables_control import QuestionRow
from store.tables_host import ReceiptRow

RESPOND = "user-question/respond"
CANCEL = "user-question/cancel"
_PENDING = Refusal("question_pending", "A question to the user is open; nothing else happens until it is answered.")


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a client wants of a question: an answer by option or text, or (both None) its cancellation."""

    question_id: str
    revision: int
    request_id: str
    option_id: str | None = None
    text: str | None = None


async def ask(tx: Transaction, run: RunRef, step: int, index: int, text: str, options: Sequence[str]) -> QuestionRow:
    """Open the question of a call: the task waits for the user, the question gets its delivery (T7).

    Every further call of the same model step is answered with `question_pending` (T8).

    Raises:
        Refused: `stale_result` when another attempt is current or the task has ended; `question_pending` while another
            question is open (T7); `task_stopping`.
    """
    task, _attempt = await tasks.current(tx, run)
    tasks.advance(tx, task, TaskEvent.ASK)
    await stand_still(tx, run)
    row = QuestionRow(
        question_id=tx.new_id("question"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        task_id=task.task_id,
        requirement_version=run.requirement_version,
        attempt=run.attempt,
        run_id=run.run_id,
        step=step,
        place_in_step=index,
        revision=1,
        text=text,
        options={f"option_{number}": label for number, label in enumerate(options, start=1)},
        state=QuestionState.OPEN.value,
        created_at=tx.now,
    )
    tx.session.add(row)
    await tx.session.flush()
    delivery = await deliveries.open_delivery(
        tx,
        DeliveryKind.QUESTION,
        task_id=task.task_id,
        requirement_version=run.requirement_version,
        attempt=run.attempt,
        subject_id=row.question_id,
    )
    row.delivery_id = delivery.delivery_id
    (await run_steps.call_row(tx, run.run_id, step, index)).question_id = row.question_id
    await run_steps.refuse_later_calls(tx, run.run_id, step, index, _PENDING)
    changes.notify(tx, "questions", question_id=row.question_id)
    return row


async def settle(tx: Transaction, wanted: Settlement, principal: str) -> tuple[ReceiptRow, QuestionRow]:
    """Answer or cancel a question, or return the receipt of the same request (T9, I2).

    Raises:
        Refused: `not_found`, `question_closed`, `revision_conflict`, `invalid_params` or `request_id_conflict`.
    """
    answering = wanted.option_id is not None or wanted.text is not None
    method = RESPOND if answering else CANCEL
    content: Mapping[str, Any] = {
        "question_id": wanted.question_id,
        "revision": wanted.revision,
        "option_id": wanted.option_id,
        "text": wanted.text,
    }
    earlier = await receipts.repeated(tx, wanted.request_id, method, content)
    row = await question_row(tx, wanted.question_id)
    if earlier is not None:
        return earlier, row
    event = QuestionEvent.ANSWER if answering else QuestionEvent.CANCEL
    state = accepted(
        question.settle(QuestionState(row.state), event, revision=row.revision, named_revision=wanted.revision)
    )
    if answering:
        labels = {key: str(label) for key, label in row.options.items()}
        words = accepted(question.choose_answer(labels, wanted.option_id, wanted.text))
        row.answer = accepted(check_text(words, field="answer"))
    await end_question(tx, row, state, principal)
    task = await tasks.task_row(tx, row.task_id)
    if task.state == TaskState.WAITING_USER.value:
        tasks.advance(tx, task, TaskEvent.GO_ON)
    receipt = await receipts.accept(tx, wanted.request_id, method, content, principal=principal)
    receipt.task_id, receipt.subject_id = row.task_id, row.question_id
    return receipt, row


async def answer_from_conversation(
    tx: Transaction, question_id: str, text: str, *, request_id: str, principal: str, source: tuple[str, int]
) -> QuestionRow:
    """Answer a question by what the user said in the conversation; that message is its provenance (T9)."""
    row = await question_row(tx, question_id)
    earlier = await receipts.find(tx, request_id)
    if earlier is not None and earlier.subject_id == question_id:
        return row
    wanted = Settlement(question_id, row.revision, request_id, text=text)
    _receipt, row = await settle(tx, wanted, principal)
    row.source_session_id, row.source_seq = source
    return row


async def question_row(tx: Transaction, question_id: str) -> QuestionRow:
    """A question of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    row = await tx.session.get(QuestionRow, question_id)
    if row is None or (row.user_space, row.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such question.")
    return row
