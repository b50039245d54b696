"""What people, executors and stops do in tests of control over work: one transaction each."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from domain.intent import Remaining
from domain.refusal import Refused
from domain.run import RunRef
from store import children, delivery_retries, questions, resumes, stop_progress, stops, tasks, turn_ends
from store.database import Transaction
from store.questions import Settlement
from store.tables_control import IntentRow, QuestionRow
from store.tables_host import ReceiptRow
from store.tables_work import DeliveryRow, TaskRow
from store.tasks import NewTask
from tests.control_plane import Plane

Answer = TypeVar("Answer")
ASKS = ("ask_user", {"question": "Which month?"})


async def within(plane: Plane, work: Callable[[Transaction], Awaitable[Answer]]) -> Answer:
    """Do one piece of work in a transaction of its own."""
    async with plane.database.write(plane.scope) as tx:
        return await work(tx)


async def code_of(work: Awaitable[Any]) -> str:
    """The code that refuses the work; an empty text when nothing does."""
    try:
        await work
    except Refused as refused:
        return refused.refusal.code
    return ""


async def asked(
    plane: Plane, run: RunRef, *options: str, calls: tuple[tuple[str, object], ...] = (ASKS,), number: int = 1
) -> QuestionRow:
    """The open question of a new step's first call."""
    await plane.step(run, "", *calls, number=number)
    return await within(plane, lambda tx: questions.ask(tx, run, number, 0, "Which month?", options))


async def settled(plane: Plane, question: QuestionRow, request_id: str | None = None, **said: Any) -> ReceiptRow:
    """Answer a question, or cancel it where nothing is said."""
    wanted = {"revision": question.revision, **said}
    made = Settlement(question.question_id, request_id=request_id or plane.request_id(), **wanted)
    return (await within(plane, lambda tx: questions.settle(tx, made, "owner")))[0]


async def stopped(plane: Plane, task_id: str | None, request_id: str | None = None) -> IntentRow:
    """Accept a stop."""
    made = request_id or plane.request_id()
    return (await within(plane, lambda tx: stops.accept_stop(tx, task_id or "", made, "owner")))[1]


async def looked(plane: Plane, intent: IntentRow) -> tuple[IntentRow, Remaining]:
    """Reconcile once."""
    row, remaining, _running = await within(plane, lambda tx: stop_progress.reconcile(tx, intent.intent_id))
    return row, remaining


async def let_go(plane: Plane, run: RunRef) -> bool:
    """The attempt's workflow has let go of everything."""
    return await within(plane, lambda tx: stop_progress.stop_attempt(tx, run))


async def finished(plane: Plane, intent: IntentRow) -> IntentRow:
    """Reconcile once; the stop must be done."""
    row, remaining = await looked(plane, intent)
    assert (row.state, remaining.nothing) == ("done", True)
    return row


async def resumed(plane: Plane, task_id: str | None, request_id: str | None = None, **wanted: Any) -> TaskRow:
    """Resume a task."""
    made = resumes.Resume(task_id or "", request_id or plane.request_id(), **wanted)
    return (await within(plane, lambda tx: resumes.resume_task(tx, made, "owner")))[1]


async def begun(plane: Plane, task_id: str | None) -> RunRef:
    """Begin a task's current attempt."""
    return tasks.run_of(await within(plane, lambda tx: tasks.begin(tx, task_id or "")))


async def failed(plane: Plane, run: RunRef, reason: str = "executor_failed") -> None:
    """Fail an attempt."""
    await within(plane, lambda tx: tasks.fail(tx, run, reason))


async def retried(plane: Plane, delivery_id: str, request_id: str | None = None) -> DeliveryRow:
    """Retry a delivery."""
    made = request_id or plane.request_id()
    return (await within(plane, lambda tx: delivery_retries.retry_delivery(tx, delivery_id, made, "owner")))[1]


async def turn_failed(plane: Plane, run: RunRef) -> None:
    """End a turn without an answer."""
    await within(plane, lambda tx: turn_ends.fail(tx, run, "model_unavailable", "words"))


async def turn_stopped(plane: Plane, run: RunRef) -> None:
    """End a stopped turn."""
    await within(plane, lambda tx: turn_ends.stop(tx, run))


async def delegated(plane: Plane, run: RunRef, number: int = 1, title: str = "Child") -> TaskRow:
    """A sub-task that a new step's only call makes."""
    await plane.step(run, "", ("delegate_task", {"title": title, "instructions": "do"}), number=number)
    new = NewTask(title, "do", f"call:{run.run_id}:{number}:0")
    return await within(plane, lambda tx: children.delegate(tx, run, number, 0, new))


async def task_of(plane: Plane, task_id: str | None) -> TaskRow:
    """A task as it stands now."""
    return await plane.only(TaskRow, TaskRow.task_id == task_id)


async def deliveries_of(plane: Plane, task_id: str | None) -> list[DeliveryRow]:
    """A task's deliveries, oldest first."""
    return list(await plane.rows(DeliveryRow, DeliveryRow.owner_id == task_id))
