"""Accepting a stop (S1-S5, S7): from this transaction on nothing it covers can be claimed, started or delivered."""

from sqlalchemy import select

from domain.delivery import DeliveryEvent, DeliveryState
from domain.intent import IntentState, expected_outcome
from domain.refusal import refuse
from domain.task import TERMINAL, TaskEvent, TaskState
from store import changes, deliveries, effects, outbox, receipts, tasks
from store.ancestry import family
from store.database import Transaction
from store.grant_proposals import close_requests
from store.question_ends import close_open
from store.tables_control import IntentRow
from store.tables_host import ReceiptRow
from store.tables_work import DeliveryRow, TaskRow
from store.turn_ends import cut_turn

METHOD = "agents.tasks.stop"
_UNDELIVERED = (DeliveryState.WAITING.value, DeliveryState.SUBMITTED.value, DeliveryState.FAILED.value)


async def accept_stop(tx: Transaction, task_id: str, request_id: str, principal: str) -> tuple[ReceiptRow, IntentRow]:
    """Accept a stop of a task's current requirement version; another one of the same version joins it (S7).

    Raises:
        Refused: `not_found`, `request_id_conflict`.
    """
    content = {"task_id": task_id}
    earlier = await receipts.repeated(tx, request_id, METHOD, content)
    if earlier is not None:
        return earlier, await intent_row(tx, earlier.intent_id or "")
    task = await tasks.task_row(tx, task_id)
    intent = await intent_of(tx, task) or await _new_intent(tx, task, request_id, principal)
    receipt = await receipts.accept(tx, request_id, METHOD, content, principal=principal)
    receipt.task_id, receipt.intent_id = task_id, intent.intent_id
    return receipt, intent


async def _new_intent(tx: Transaction, task: TaskRow, request_id: str, principal: str) -> IntentRow:
    covered = await family(tx, task)
    undelivered = await _undelivered(tx, covered)
    intent = IntentRow(
        intent_id=tx.new_id("intent"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        task_id=task.task_id,
        requirement_version=task.requirement_version,
        state=IntentState.ACCEPTED.value,
        expected=expected_outcome(TaskState(task.state), len(undelivered)).value,
        covered=[row.task_id for row in covered],
        unsettled=[],
        request_id=request_id,
        principal=principal,
        created_at=tx.now,
    )
    tx.session.add(intent)
    for row in covered:
        await _stop_task(tx, row)
    for delivery in undelivered:
        await _cancel(tx, delivery)
    await tx.session.flush()
    outbox.post(tx, outbox.STOP_START, intent.intent_id)
    changes.notify(tx, "tasks", task_id=task.task_id)
    return intent


async def _stop_task(tx: Transaction, task: TaskRow) -> None:
    if TaskState(task.state) in TERMINAL or task.state == TaskState.STOPPING.value:
        return
    tasks.advance(tx, task, TaskEvent.REQUEST_STOP)
    await effects.withdraw_run(tx, tasks.run_of(task).run_id)
    await close_requests(tx, task.task_id, "stopped")
    await close_open(tx, task.task_id)


async def _undelivered(tx: Transaction, covered: list[TaskRow]) -> list[DeliveryRow]:
    """What the covered requirement versions have not delivered; an earlier version's reply still goes out (S2, T11)."""
    versions = {row.task_id: row.requirement_version for row in covered}
    query = (
        select(DeliveryRow)
        .where(DeliveryRow.owner_id.in_(versions), DeliveryRow.state.in_(_UNDELIVERED))
        .order_by(DeliveryRow.position)
    )
    found = (await tx.session.scalars(query)).all()
    return [delivery for delivery in found if delivery.requirement_version == versions[delivery.owner_id]]


async def _cancel(tx: Transaction, delivery: DeliveryRow) -> None:
    """Cancel a delivery that was not delivered; its queued reply is removed, its running one cut (D3)."""
    deliveries.settle(tx, delivery, DeliveryEvent.CANCEL, reason="task_stopped")
    if delivery.turn_id is not None:
        await cut_turn(tx, delivery.turn_id)
    outbox.post(tx, outbox.DELIVERY_START, delivery.delivery_id)


async def intent_of(tx: Transaction, task: TaskRow) -> IntentRow | None:
    """The intent of the task's current requirement version, if one was accepted."""
    query = select(IntentRow).where(
        IntentRow.task_id == task.task_id, IntentRow.requirement_version == task.requirement_version
    )
    return (await tx.session.scalars(query)).first()


async def intent_row(tx: Transaction, intent_id: str) -> IntentRow:
    """An intent of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    row = await tx.session.get(IntentRow, intent_id)
    if row is None or (row.user_space, row.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such stop intent.")
    return row


async def intents_covering(tx: Transaction, task_id: str) -> list[str]:
    """The ids of unfinished intents that cover a task."""
    query = select(IntentRow).where(
        IntentRow.user_space == tx.scope.user_space,
        IntentRow.domain == tx.scope.domain,
        IntentRow.state != IntentState.DONE.value,
    )
    return [row.intent_id for row in await tx.session.scalars(query) if task_id in row.covered]
