"""Telling a parent (T13): a sub-task's end is the answer of the call that delegated it, never a delivery."""

import json

from sqlalchemy import select

from store import outbox, run_steps
from store.database import Transaction
from store.tables_work import CallRow, TaskRow


async def tell_parent(tx: Transaction, child: TaskRow) -> None:
    """Answer the call that delegated a sub-task with its end; the parent's workflow and its own have to look (T13)."""
    call = (await tx.session.scalars(select(CallRow).where(CallRow.child_task_id == child.task_id))).first()
    if call is not None:
        outbox.post(tx, outbox.ATTEMPT_LOOK, call.run_id)
        told = {"task_id": child.task_id, "state": child.state}
        told |= {"summary": child.result_summary} if child.result_summary is not None else {}
        told |= {"reason": child.reason_text or child.reason} if child.reason else {}
        answer = json.dumps(told, ensure_ascii=False)
        await run_steps.finish_call(tx, call.run_id, call.step, call.place_in_step, answer)
    # A sub-task has no delivery whose end would tell its own workflow.
    outbox.post(tx, outbox.TASK_LOOK, child.task_id)
