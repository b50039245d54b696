"""Tool calls that only touch SQL: one transaction each, in which the call gets its answer (I2, T5)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from activities.automation_tools import (
    delete_automation,
    list_automations,
    pause_automation,
    reschedule_automation,
    schedule_task,
)
from activities.call_names import call_request
from activities.control_tools import answer_question, ask_user, mode_of, resume_task, retry_delivery, stop_task
from assistant import tool_results
from assistant.tool_arguments import DelegateTask, FailTask, GetTask, ListTasks, ReportProgress, SubmitResult
from contracts.run import RunPoint
from domain.limits import check_engine
from domain.refusal import accepted, refuse
from domain.run import RunKind, RunRef
from domain.tool_policy import mode_handed_on
from store import children, task_progress, tasks
from store.database import Transaction
from store.run_reading import requirement_of
from store.task_views import task_page, task_view
from store.turns import turn_row

Tool = Callable[[Transaction, RunPoint, Any], Awaitable[str | None]]
"""Answers a call; None when the call waits for its answer."""

LISTED = 20


async def delegate_task(tx: Transaction, point: RunPoint, arguments: DelegateTask) -> str | None:
    """Create a task for the input that this turn answers (T1), or a sub-task that the attempt waits for (T13)."""
    run = point.run
    # A mode that there is not at all is told before one that is too wide here.
    accepted(check_engine(arguments.engine, arguments.permission_mode))
    new = tasks.NewTask(
        title=arguments.title,
        instructions=arguments.instructions,
        request_id=call_request(point),
        agent_id=run.agent_id,
        engine=arguments.engine,
        permission_mode=accepted(mode_handed_on(arguments.permission_mode, await mode_of(tx, run))),
        attachment_ids=tuple(arguments.attachment_ids or ()),
        source=await _source(tx, run),
    )
    if run.kind is RunKind.ATTEMPT:
        await children.delegate(tx, run, point.step, point.index, new)
        return None
    _receipt, task = await tasks.accept_task(tx, new, (await turn_row(tx, run.turn_id or "")).principal)
    return tool_results.task_delegated(task.task_id, task.title)


async def _source(tx: Transaction, run: RunRef) -> tuple[str, tuple[int, ...]] | None:
    """The genuine inputs behind a run: a sub-task's are its parent's (T2)."""
    if run.kind is RunKind.ATTEMPT:
        requirement, _attachments = await requirement_of(tx, run)
        session_id = requirement.source_session_id
        return (session_id, tuple(requirement.source_seqs)) if session_id is not None else None
    turn = await turn_row(tx, run.turn_id or "")
    return (turn.session_id, (turn.input_seq,)) if turn.input_seq is not None else None


async def list_tasks(tx: Transaction, point: RunPoint, arguments: ListTasks) -> str:
    """The newest tasks, by state if one is named."""
    page = await task_page(tx, {"state": arguments.state}, LISTED, None)
    return tool_results.tasks_listed(page["items"], more=page["next_cursor"] is not None)


async def get_task(tx: Transaction, point: RunPoint, arguments: GetTask) -> str:
    """One task as the wire contract shows it."""
    return tool_results.task_shown(await task_view(tx, await tasks.task_row(tx, arguments.task_id)))


async def report_progress(tx: Transaction, point: RunPoint, arguments: ReportProgress) -> str:
    """Keep the executor's line for the people who look at the task (T17)."""
    await task_progress.report(tx, point.run, arguments.text)
    return tool_results.noted()


async def submit_result(tx: Transaction, point: RunPoint, arguments: SubmitResult) -> str:
    """Complete the task with a result that names no files (T5)."""
    if arguments.artifacts:
        raise refuse("invalid_params", "Artifacts are copied where the files are; send the result again.")
    await tasks.succeed(tx, point.run, arguments.summary, [])
    return tool_results.noted()


async def fail_task(tx: Transaction, point: RunPoint, arguments: FailTask) -> str:
    """End the task without a result, with the executor's own words as the reason."""
    await tasks.fail(tx, point.run, "executor_failed", arguments.reason)
    return tool_results.noted()


SHARED_TOOLS: Mapping[str, Tool] = {
    "delegate_task": delegate_task,
    "list_tasks": list_tasks,
    "get_task": get_task,
    "report_progress": report_progress,
    "submit_result": submit_result,
    "fail_task": fail_task,
    "stop_task": stop_task,
    "resume_task": resume_task,
    "retry_delivery": retry_delivery,
    "answer_question": answer_question,
    "ask_user": ask_user,
    "schedule_task": schedule_task,
    "reschedule_automation": reschedule_automation,
    "list_automations": list_automations,
    "pause_automation": pause_automation,
    "delete_automation": delete_automation,
}
