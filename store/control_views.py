"""Questions and stop intents as the wire contract shows them (api.md)."""

from typing import Any

from sqlalchemy import select

from store.database import Transaction
from store.keyset import cursor_after, text_key
from store.tables_control import IntentRow, QuestionRow
from store.tables_conversation import TurnRow
from store.tables_work import DeliveryRow
from store.wire_time import wire_time

Json = dict[str, Any]


async def question_page(tx: Transaction, state: str | None, limit: int, cursor: str | None) -> Json:
    """A page of questions, newest first, by keyset."""
    query = select(QuestionRow, DeliveryRow).outerjoin(DeliveryRow, DeliveryRow.delivery_id == QuestionRow.delivery_id)
    query = query.where(QuestionRow.user_space == tx.scope.user_space, QuestionRow.domain == tx.scope.domain)
    if state is not None:
        query = query.where(QuestionRow.state == state)
    after = text_key(cursor)
    if after is not None:
        query = query.where(QuestionRow.question_id < after)
    rows = (await tx.session.execute(query.order_by(QuestionRow.question_id.desc()).limit(limit + 1))).all()
    items = [await question_view(tx, row, delivery) for row, delivery in rows[:limit]]
    return {"items": items, "next_cursor": cursor_after(items[-1]["question_id"]) if len(rows) > limit else None}


async def question_view(tx: Transaction, row: QuestionRow, delivery: DeliveryRow | None) -> Json:
    """One question; `session_id` and `message_seq` name its message in the main conversation once it is there."""
    turn = await tx.session.get(TurnRow, delivery.turn_id) if delivery is not None and delivery.turn_id else None
    view: Json = {
        "question_id": row.question_id,
        "revision": row.revision,
        "task_id": row.task_id,
        "session_id": turn.session_id if turn is not None else None,
        "message_seq": delivery.message_seq if delivery is not None else None,
        "text": row.text,
        "options": [{"id": key, "label": label} for key, label in sorted(row.options.items(), key=_number)],
        "allow_text": True,
        "created_at": wire_time(row.created_at),
        "state": row.state,
    }
    return view if row.answer is None else view | {"answer": row.answer}


def _number(option: tuple[str, Any]) -> int:
    return int(option[0].rpartition("_")[2])


async def task_questions(tx: Transaction, task_id: str) -> list[Json]:
    """All questions of a task, oldest first."""
    query = (
        select(QuestionRow, DeliveryRow)
        .outerjoin(DeliveryRow, DeliveryRow.delivery_id == QuestionRow.delivery_id)
        .where(QuestionRow.task_id == task_id)
        .order_by(QuestionRow.question_id)
    )
    return [await question_view(tx, row, delivery) for row, delivery in await tx.session.execute(query)]


async def open_questions(tx: Transaction) -> list[QuestionRow]:
    """The open questions of the scope, oldest first."""
    query = (
        select(QuestionRow)
        .where(
            QuestionRow.user_space == tx.scope.user_space,
            QuestionRow.domain == tx.scope.domain,
            QuestionRow.state == "open",
        )
        .order_by(QuestionRow.question_id)
    )
    return list(await tx.session.scalars(query))


async def intent_view(tx: Transaction, row: IntentRow) -> Json:
    """One stop intent."""
    view: Json = {
        "intent_id": row.intent_id,
        "task_id": row.task_id,
        "state": row.state,
        "covered": list(row.covered),
        "unsettled": list(row.unsettled),
    }
    return view if row.outcome is None else view | {"outcome": row.outcome}


async def task_intents(tx: Transaction, task_id: str) -> list[Json]:
    """The stop intents of a task, oldest first."""
    query = select(IntentRow).where(IntentRow.task_id == task_id).order_by(IntentRow.intent_id)
    return [await intent_view(tx, row) for row in await tx.session.scalars(query)]


async def cut_turns(tx: Transaction, intent: IntentRow) -> list[str]:
    """The running replies that the stop cuts."""
    query = (
        select(TurnRow.turn_id)
        .join(DeliveryRow, DeliveryRow.turn_id == TurnRow.turn_id)
        .where(DeliveryRow.owner_id.in_(intent.covered), TurnRow.stop_requested_at.is_not(None))
        .where(TurnRow.state == "running")
    )
    return list(await tx.session.scalars(query))
