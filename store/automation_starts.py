"""Starting the work of a firing (U1, U4): a task of its own, or the automation's task resumed, under its permission.

The task is made in the transaction that decides the firing, so a crash leaves both or neither (U5).
"""

from domain.automation import AutomationMode
from domain.refusal import Refused
from store import grants, resumes, tasks
from store.database import Transaction
from store.resumes import Resume
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_grants import GrantRow
from store.tables_work import TaskRow
from store.tasks import NewTask

PRINCIPAL = "host"


async def start_work(tx: Transaction, row: AutomationRow, run: AutomationRunRow, grant: GrantRow | None) -> str | None:
    """Make or resume the task of a firing; the code of a refusal where what it needs is not there (any more)."""
    try:
        async with tx.session.begin_nested():
            task = await _task_of(tx, row, run)
    except Refused as refused:
        return refused.refusal.code
    run.task_id, run.requirement_version = task.task_id, task.requirement_version
    if row.mode == AutomationMode.CONTINUE.value:
        row.task_id = task.task_id
    await tx.session.flush()
    if grant is not None:
        await grants.derive(tx, grant, task)
    return None


async def _task_of(tx: Transaction, row: AutomationRow, run: AutomationRunRow) -> TaskRow:
    source = (row.source_session_id, tuple(row.source_seqs)) if row.source_session_id is not None else None
    if row.mode == AutomationMode.CONTINUE.value and row.task_id is not None:
        before = await tasks.task_row(tx, row.task_id)
        # Another agent's work is another task: a task keeps its agent.
        if before.agent_id == row.agent_id:
            wanted = Resume(
                before.task_id, run.request_id, instructions=row.instructions, engine=row.engine,
                permission_mode=row.permission_mode, source=source,
            )  # fmt: skip
            return (await resumes.resume_task(tx, wanted, PRINCIPAL))[1]
    new = NewTask(
        row.title, row.instructions, run.request_id, agent_id=row.agent_id, engine=row.engine,
        permission_mode=row.permission_mode, source=source,
    )  # fmt: skip
    _, task = await tasks.accept_task(tx, new, PRINCIPAL)
    task.automation_id = row.automation_id
    return task
