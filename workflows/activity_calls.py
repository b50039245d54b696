"""The only place that calls activities and starts other workflows: queues, time-outs and retries in one view."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from contracts import names, options
    from contracts.run import RunActivities, RunPoint
    from contracts.starting import WorkflowStart
    from domain.run import Following, Place, RunKind, RunRef

Self = TypeVar("Self")
Argument = TypeVar("Argument")
Answer = TypeVar("Answer")


async def shared(method: Callable[[Self, Argument], Awaitable[Answer]], argument: Argument, *, summary: str) -> Answer:
    """A short idempotent SQL step, as a local activity."""
    return await workflow.execute_local_activity_method(method, argument, summary=summary, **options.LOCAL_STEP)


async def on_any_worker(
    method: Callable[[Self, Argument], Awaitable[Answer]],
    argument: Argument,
    *,
    summary: str,
    start_to_close: timedelta,
    retry: RetryPolicy = options.MODEL_STEP_RETRY,
) -> Answer:
    """A step that waits for a model or another server, on any worker of the shared queue."""
    return await workflow.execute_activity_method(
        method,
        argument,
        task_queue=names.SHARED_QUEUE,
        start_to_close_timeout=start_to_close,
        heartbeat_timeout=options.STEP_HEARTBEAT,
        retry_policy=retry,
        summary=summary,
    )


async def on_files(
    method: Callable[[Self, Argument], Awaitable[Answer]],
    argument: Argument,
    *,
    user_space: str,
    domain: str,
    summary: str,
    start_to_close: timedelta = options.FILES_STEP_TIMEOUT,
    retry: RetryPolicy = options.LOCAL_STEP_RETRY,
    schedule_to_start: timedelta | None = None,
    heartbeat: timedelta = options.STEP_HEARTBEAT,
) -> Answer:
    """A step on the machine that holds the host's files."""
    return await workflow.execute_activity_method(
        method,
        argument,
        task_queue=names.files_queue(user_space, domain),
        start_to_close_timeout=start_to_close,
        schedule_to_start_timeout=schedule_to_start,
        heartbeat_timeout=heartbeat,
        retry_policy=retry,
        summary=summary,
    )


async def on_host(
    method: Callable[[Self, Argument], Awaitable[Answer]],
    argument: Argument,
    *,
    user_space: str,
    domain: str,
    summary: str,
) -> Answer:
    """A step that the host serves itself."""
    return await workflow.execute_activity_method(
        method,
        argument,
        task_queue=names.host_queue(user_space, domain),
        start_to_close_timeout=options.LOCAL_STEP_TIMEOUT,
        heartbeat_timeout=options.STEP_HEARTBEAT,
        retry_policy=options.LOCAL_STEP_RETRY,
        summary=summary,
    )


async def model_step(run: RunRef, step: int) -> Following:
    """One model step: of a turn inside the host, where it streams; of an attempt on any worker."""
    in_host = run.kind is RunKind.TURN
    return await workflow.execute_activity_method(
        RunActivities.model_step,
        RunPoint(run=run, step=step),
        task_queue=names.host_queue(run.user_space, run.domain) if in_host else names.SHARED_QUEUE,
        start_to_close_timeout=options.MODEL_STEP_TIMEOUT,
        heartbeat_timeout=options.MODEL_STEP_HEARTBEAT,
        retry_policy=options.MODEL_STEP_RETRY,
        summary=f"Model step {step}",
    )


async def tool_call(run: RunRef, following: Following) -> Following:
    """One tool call where it belongs: SQL only, or this machine's files."""
    point = RunPoint(run=run, step=following.step, index=following.index)
    summary = f"Call {following.index + 1} of step {following.step}"
    if following.kind == "propose":
        method = RunActivities.propose_effect
    elif following.place is Place.FILES:
        method = RunActivities.files_call
    else:
        return await shared(RunActivities.shared_call, point, summary=summary)
    return await on_files(method, point, user_space=run.user_space, domain=run.domain, summary=summary)


async def start(child: WorkflowStart) -> None:
    """Start a workflow that reports its end by a signal (T18); one that runs already is left alone."""
    try:
        _handle = await workflow.start_child_workflow(
            child.workflow,
            child.argument,
            id=child.workflow_id,
            task_queue=child.task_queue,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            search_attributes=child.search_attributes,
            static_summary=child.summary,
        )
    except WorkflowAlreadyStartedError:
        workflow.logger.debug("workflow already runs")


async def tell(workflow_id: str, signal: str, *arguments: Any) -> None:  # noqa: ANN401 - a signal's arguments
    """Signal another workflow as a hint; one that has closed needs no hint."""
    handle: workflow.ExternalWorkflowHandle[Any] = workflow.get_external_workflow_handle(workflow_id)
    try:
        await handle.signal(signal, args=list(arguments))
    except Exception as error:
        if not workflow.is_failure_exception(error):
            raise
