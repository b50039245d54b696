"""Which tasks of an automation wait for authority: a grant for the automation lets them go on (A10, A15)."""

from sqlalchemy import select

from domain.task import TaskState
from store.database import Transaction
from store.tables_work import TaskRow


async def waiting_tasks(tx: Transaction, automation_id: str) -> list[str]:
    """The ids of an automation's tasks that wait for authority, oldest first."""
    query = (
        select(TaskRow.task_id)
        .where(
            TaskRow.user_space == tx.scope.user_space,
            TaskRow.domain == tx.scope.domain,
            TaskRow.automation_id == automation_id,
            TaskRow.state == TaskState.WAITING_AUTHORIZATION.value,
        )
        .order_by(TaskRow.task_id)
    )
    return list(await tx.session.scalars(query))
