"""Wiring: what a worker and a host are made of. Nothing else in the program builds these together."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio.client import Client
from temporalio.common import WorkerDeploymentVersion
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig, WorkflowRunner

from activities.attention import AttentionWork
from activities.attention_sending import AttentionSending
from activities.authority import OutsideAuthority
from activities.automations import AutomationWork
from activities.conversation import ConversationWork
from activities.deliveries import DeliveryWork
from activities.effect_proposal import EffectProposals
from activities.effects import FileEffectActivities
from activities.file_effect import FileEffect
from activities.grants import GrantWork
from activities.hints import Hints
from activities.model_steps import LiveReplies, ModelSteps
from activities.review import ReviewWork
from activities.runs import RunWork
from activities.schedule_sync import AutomationSchedules
from activities.stop_watch import StopWatch
from activities.stops import StopWork
from activities.tasks import TaskWork
from activities.tool_calls import ToolCalls
from activities.turn_start import TurnStarter
from adapters.dispatch_lock import DispatchLocks
from adapters.files_root import FilesRoot
from adapters.managed_files import ManagedFiles
from adapters.notification_secrets import NotificationSecrets
from assistant.provider import OFFLINE, resolve_model
from contracts.names import SHARED_QUEUE, files_queue, host_queue
from contracts.options import CLAIM_FRESH_S
from domain.run import Bounds
from runtime import authorization
from runtime.commands import Commands, open_commands
from runtime.notification_secrets import notification_secrets
from runtime.orphaned_schedules import remove_orphaned
from runtime.private_failures import PrivateFailures
from runtime.product_version import product_version
from runtime.settings import Settings
from runtime.start_up_collection import collection_paused
from store.authority import Authority
from store.automation_runs import FiringRules
from store.database import Database, Scope
from store.gate import GateLimits
from workflows.attempt import AttemptWorkflow
from workflows.attention import AttentionWorkflow
from workflows.automation import AutomationWorkflow
from workflows.conversation import ConversationWorkflow
from workflows.delivery import DeliveryWorkflow
from workflows.effect import EffectWorkflow
from workflows.grant import GrantWorkflow
from workflows.stop import StopWorkflow
from workflows.task import TaskWorkflow
from workflows.turn import TurnWorkflow

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from activities.run_context import Role

WORKFLOWS = (
    ConversationWorkflow,
    TurnWorkflow,
    TaskWorkflow,
    AttemptWorkflow,
    EffectWorkflow,
    DeliveryWorkflow,
    StopWorkflow,
    GrantWorkflow,
    AttentionWorkflow,
    AutomationWorkflow,
)

# Long enough for a file write and the storing of an answer; model calls are cancelled and asked again elsewhere (H16).
GRACEFUL_STOP = timedelta(seconds=5)
# After a killed worker its cached workflows are offered to others this soon; the default costs 10 s (measured).
STICKY_TIMEOUT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Parts:
    """What both processes share: the control plane, this host's files, the models."""

    settings: Settings
    database: Database
    files: FilesRoot
    managed: ManagedFiles
    models: "dict[Role, Model[Any]]"
    authority: Authority
    outside: OutsideAuthority
    secrets: NotificationSecrets

    @property
    def bounds(self) -> Bounds:
        """The limits of a run (T4)."""
        settings = self.settings
        return Bounds(settings.max_model_steps, settings.max_effects, settings.max_wall_s)


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """Build the parts and close them in order.

    Raises:
        ConfigurationError: a model setting is wrong (O3).
    """
    async with AsyncExitStack() as stack:
        with collection_paused():
            chosen = _chosen_models(settings)
        for model in {id(model): model for model in chosen.values()}.values():
            await stack.enter_async_context(model)
        database = Database(settings.effective_database_url)
        stack.push_async_callback(database.close)
        files = FilesRoot(settings.files_dir, (settings.state_dir,))
        files.prepare()
        managed = ManagedFiles(settings.state_dir, files)
        managed.prepare()
        authority = await asyncio.to_thread(authorization.authority, settings)
        outside = await asyncio.to_thread(authorization.outside, settings, database)
        secrets = notification_secrets(settings)
        yield Parts(settings, database, files, managed, chosen, authority, outside, secrets)


def _chosen_models(settings: Settings) -> "dict[Role, Model[Any]]":
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    main = resolve_model(settings.model, settings.model_base_url, key)
    task = main
    if settings.task_model not in (None, settings.model):
        task = resolve_model(settings.task_model or "", settings.model_base_url, key, setting="STEWARD_TASK_MODEL")
    return {"main": main, "task": task}


def _deployment() -> WorkerDeploymentConfig:
    """Name the build in histories; without a name the SDK reads and hashes every imported module (0.4 s at each start).

    It is a name only: nothing is pinned to a build (O12).
    """
    version = WorkerDeploymentVersion(deployment_name="steward", build_id=product_version())
    return WorkerDeploymentConfig(version=version, use_worker_versioning=False)


def _model_steps(parts: Parts, live: LiveReplies | None) -> ModelSteps:
    settings = parts.settings
    return ModelSteps(
        database=parts.database,
        models=parts.models,
        bounds=parts.bounds,
        budget_tokens=settings.context_tokens,
        silence_timeout_s=settings.model_timeout_s,
        delivery_wait_s=settings.delivery_model_wait_s,
        stops=StopWatch(parts.database),
        live=live,
    )


def _turn_starter(client: Client, parts: Parts) -> TurnStarter:
    return TurnStarter(parts.database, Hints(client), park_after_s=parts.settings.card_park_s)


def turn_beginner(parts: Parts) -> Callable[[Client], Awaitable[None]]:
    """What the host's relay calls when something was queued: the next turn begins without a hop (C1)."""
    scope = Scope(parts.settings.user_space, parts.settings.product_domain)

    async def begin(client: Client) -> None:
        await _turn_starter(client, parts).begin_next(scope)

    return begin


def firing_rules(settings: Settings) -> FiringRules:
    """What this host adds to an automation's own rules (U7)."""
    return FiringRules(failures=settings.automation_failures)


def schedule_syncer(parts: Parts) -> Callable[[Client, str], Awaitable[None]]:
    """What the host's relay calls when an automation was written: its schedule follows the row (U1)."""
    scope = Scope(parts.settings.user_space, parts.settings.product_domain)

    async def sync(client: Client, automation_id: str) -> None:
        await AutomationSchedules(parts.database, client, firing_rules(parts.settings)).sync(scope, automation_id)

    return sync


def orphan_remover(parts: Parts) -> Callable[[Client], Awaitable[int]]:
    """What the host calls once Temporal is there: schedules that no automation stands behind go (U1)."""
    scope = Scope(parts.settings.user_space, parts.settings.product_domain)

    async def remove(client: Client) -> int:
        return await remove_orphaned(client, parts.database, scope, firing_rules(parts.settings))

    return remove


def _automations(client: Client, parts: Parts) -> AutomationWork:
    rules = firing_rules(parts.settings)
    return AutomationWork(parts.database, AutomationSchedules(parts.database, client, rules), rules, parts.outside)


def shared_worker(client: Client, parts: Parts, runner: WorkflowRunner | None = None) -> Worker:
    """The worker of the shared queue: all workflows, SQL steps, model steps of tasks."""
    hints = Hints(client)
    runs = RunWork(parts.database, parts.bounds, _model_steps(parts, None), _tool_calls_on_files(parts))
    conversation = ConversationWork(parts.database, hints, _turn_starter(client, parts))
    tasks, deliveries = (
        TaskWork(parts.database, hints),
        DeliveryWork(parts.database, hints, _turn_starter(client, parts)),
    )
    effects, stops = _effects(client, parts), StopWork(parts.database, hints)
    automations = _automations(client, parts)
    return Worker(
        client,
        task_queue=SHARED_QUEUE,
        workflows=list(WORKFLOWS),
        workflow_runner=runner or UnsandboxedWorkflowRunner(),
        activities=[
            runs.position,
            runs.model_step,
            runs.shared_call,
            conversation.next_turn,
            conversation.park,
            conversation.end,
            tasks.begin,
            tasks.end_attempt,
            deliveries.conclude,
            stops.reconcile,
            GrantWork(parts.database).look,
            automations.fire,
            automations.renew,
            automations.conclude,
            AttentionWork(parts.database).look,
            _review(parts).review,
            effects.status,
            effects.expire,
            effects.report,
        ],
        interceptors=[PrivateFailures()],
        graceful_shutdown_timeout=GRACEFUL_STOP,
        deployment_config=_deployment(),
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
    )


def _tool_calls_on_files(parts: Parts) -> ToolCalls:
    """For a worker, which has the files of its user space: it answers reads in the model step that asked for them."""
    scope = Scope(parts.settings.user_space, parts.settings.product_domain)
    return ToolCalls(parts.database, parts.bounds, parts.files, parts.managed, scope)


def _effects(client: Client, parts: Parts, commands: Commands | None = None) -> FileEffectActivities:
    locks = DispatchLocks(parts.settings.state_dir / "dispatch")
    performer = commands.effect if commands is not None else None
    files = FileEffect(parts.files)
    return FileEffectActivities(
        parts.database, files, locks, Hints(client), _limits(parts), performer, parts.outside
    )  # fmt: skip


def _review(parts: Parts) -> ReviewWork:
    # The offline model judges nothing, so it is not asked (E8).
    model = None if parts.settings.model == OFFLINE else parts.models["main"]
    return ReviewWork(parts.database, model, str(parts.files.root))


def _limits(parts: Parts) -> GateLimits:
    return GateLimits(parts.settings.card_expiry_s, CLAIM_FRESH_S, parts.authority)


@asynccontextmanager
async def files_worker(client: Client, parts: Parts) -> AsyncIterator[Worker]:
    """The worker of the machine that holds the host's files: reads, proposals, gates, dispatches, running commands."""
    settings = parts.settings
    calls = _tool_calls_on_files(parts)
    async with open_commands(settings, parts.database, parts.files, Hints(client)) as commands:
        proposals = EffectProposals(parts.database, parts.files, _limits(parts), commands.proposals)
        runs = RunWork(parts.database, parts.bounds, _model_steps(parts, None), calls, proposals)
        effects = _effects(client, parts, commands)
        worker = Worker(
            client,
            task_queue=files_queue(settings.user_space, settings.product_domain),
            activities=[runs.files_call, runs.propose_effect, effects.gate, effects.dispatch, effects.reconcile],
            interceptors=[PrivateFailures()],
            graceful_shutdown_timeout=GRACEFUL_STOP,
            deployment_config=_deployment(),
        )
        async with worker:
            try:
                yield worker
            finally:
                # First of all: a dispatch that waits for a command would hold the worker up (H16).
                await commands.keeper.close()


def host_worker(client: Client, parts: Parts, live: LiveReplies) -> Worker:
    """The worker inside the host: the conversation's model steps, which stream, and the submission of deliveries."""
    runs = RunWork(parts.database, parts.bounds, _model_steps(parts, live), ToolCalls(parts.database, parts.bounds))
    deliveries = DeliveryWork(parts.database, Hints(client), _turn_starter(client, parts))
    settings = parts.settings
    return Worker(
        client,
        task_queue=host_queue(settings.user_space, settings.product_domain),
        activities=[runs.model_step, deliveries.submit, AttentionSending(parts.database, parts.secrets).send],
        interceptors=[PrivateFailures()],
        graceful_shutdown_timeout=GRACEFUL_STOP,
        deployment_config=_deployment(),
    )
