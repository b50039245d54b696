"""What each kind of outbox entry means as a call to Temporal (C2). All of them are harmless when repeated."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from contracts import names
from contracts.attention import AttentionRef
from contracts.automations import AutomationRef
from contracts.conversation import ConversationRef
from contracts.deliveries import DeliveryRef
from contracts.grants import GrantRef
from contracts.starting import (
    WorkflowStart,
    attention_start,
    automation_start,
    conversation_start,
    delivery_start,
    grant_start,
    stop_start,
    task_start,
)
from contracts.stops import IntentRef
from contracts.tasks import TaskRef
from domain.delivery import DeliveryState
from domain.task import TaskState
from store import outbox
from store.database import Scope
from store.relay_queue import RelayEntry

CALL_TIMEOUT: Final = timedelta(seconds=5)
WAKE: Final = "wake"
DECIDED: Final = "decided"
STOP: Final = "stop"
LOOK: Final = "look"
CHANGED: Final = "changed"
SETTLED_SIGNAL: Final = "settled"
REVOKE: Final = "revoke"
TASK_ENDED: Final = "task_ended"


class Unknown(Exception):
    """An entry that cannot be a call: its kind is not known here, or its row is gone."""


async def relay(client: Client, scope: Scope, entry: RelayEntry) -> None:
    """Make the call that an entry stands for.

    Raises:
        RPCError: Temporal did not take it.
        Unknown: The entry means nothing to this host.
    """
    call = _CALLS.get(entry.kind)
    if call is None:
        raise Unknown(entry.kind)
    await call(client, scope, entry)


async def _wake_conversation(client: Client, scope: Scope, _entry: RelayEntry) -> None:
    await _start(client, conversation_start(ConversationRef(user_space=scope.user_space, domain=scope.domain)), WAKE)


async def _start_task(client: Client, scope: Scope, entry: RelayEntry) -> None:
    if entry.task is None:
        raise Unknown(entry.kind)
    task = entry.task
    ref = TaskRef(
        user_space=scope.user_space, domain=scope.domain, task_id=task.task_id, agent_id=task.agent_id,
        engine=task.engine,
    )  # fmt: skip
    # The signal is for a workflow that is there: it follows an earlier requirement version (T18), or lost its attempt.
    first = task.requirement_version == 1 and task.state == TaskState.ACCEPTED.value
    await _start(client, task_start(ref), None if first else CHANGED)


async def _start_delivery(client: Client, scope: Scope, entry: RelayEntry) -> None:
    if entry.delivery is None:
        raise Unknown(entry.kind)
    delivery = entry.delivery
    ref = DeliveryRef(
        user_space=scope.user_space, domain=scope.domain, delivery_id=delivery.delivery_id,
        owner_kind=delivery.owner_kind, owner_id=delivery.owner_id, kind=delivery.kind,
    )  # fmt: skip
    # One that was cancelled before it ran has nobody else to tell its workflow (D3), and the workflow that saw the
    # failure of one that is retried may be about to close: without a signal it would close without another look.
    await _start(client, delivery_start(ref), None if delivery.state == DeliveryState.WAITING.value else SETTLED_SIGNAL)


async def _decide_effect(client: Client, _scope: Scope, entry: RelayEntry) -> None:
    await _signal(client, names.effect_workflow(entry.subject_id), DECIDED)


async def _stop_turn(client: Client, _scope: Scope, entry: RelayEntry) -> None:
    await _signal(client, names.turn_workflow(entry.subject_id), STOP)


async def _attempt_look(client: Client, _scope: Scope, entry: RelayEntry) -> None:
    await _signal(client, f"attempt:{entry.subject_id}", LOOK)


async def _task_look(client: Client, _scope: Scope, entry: RelayEntry) -> None:
    await _signal(client, names.task_workflow(entry.subject_id), CHANGED)


async def _start_stop(client: Client, scope: Scope, entry: RelayEntry) -> None:
    intent = IntentRef(user_space=scope.user_space, domain=scope.domain, intent_id=entry.subject_id)
    await _start(client, stop_start(intent))


async def _start_grant(client: Client, scope: Scope, entry: RelayEntry) -> None:
    grant = GrantRef(user_space=scope.user_space, domain=scope.domain, grant_id=entry.subject_id)
    await _start(client, grant_start(grant))


async def _grant_look(client: Client, _scope: Scope, entry: RelayEntry) -> None:
    await _signal(client, names.grant_workflow(entry.subject_id), REVOKE)


async def _attention_look(client: Client, scope: Scope, entry: RelayEntry) -> None:
    ref = AttentionRef(user_space=scope.user_space, domain=scope.domain, agent_id=entry.subject_id)
    await _start(client, attention_start(ref), LOOK)


async def _follow_firing(client: Client, scope: Scope, entry: RelayEntry) -> None:
    if entry.firing is None or entry.automation is None:
        raise Unknown(entry.kind)
    firing, automation = entry.firing, entry.automation
    ref = AutomationRef(
        user_space=scope.user_space, domain=scope.domain, automation_id=automation.automation_id,
        binding_id=automation.binding_id, revision=automation.revision, schedule_revision=firing.schedule_revision,
        binding_revision=firing.binding_revision, agent_id=automation.agent_id, nominal_time=firing.nominal_time,
    )  # fmt: skip
    # The signal is for a workflow that follows it already: its task may have ended, or it may be its turn now.
    await _start(client, automation_start(ref), TASK_ENDED)


async def _start(client: Client, start: WorkflowStart, signal: str | None = None) -> None:
    """Start a workflow by name, or reach the one that runs under the same id, with a signal where one is given."""
    extra: dict[str, Any] = {} if signal is None else {"start_signal": signal}
    await client.start_workflow(
        start.workflow,
        start.argument,
        id=start.workflow_id,
        task_queue=start.task_queue,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        search_attributes=start.search_attributes,
        static_summary=start.summary,
        memo=start.memo,
        rpc_timeout=CALL_TIMEOUT,
        **extra,
    )


async def _signal(client: Client, workflow_id: str, signal: str) -> None:
    """Signal a workflow; one that has ended or not begun reads what it needs from SQL when it runs."""
    try:
        await client.get_workflow_handle(workflow_id).signal(signal, rpc_timeout=CALL_TIMEOUT)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND or error.message.lower().startswith("namespace"):
            raise


_CALLS: Final[Mapping[str, Callable[[Client, Scope, RelayEntry], Awaitable[None]]]] = {
    outbox.CONVERSATION_WAKE: _wake_conversation,
    outbox.TASK_START: _start_task,
    outbox.DELIVERY_START: _start_delivery,
    outbox.EFFECT_DECIDED: _decide_effect,
    outbox.TURN_STOP: _stop_turn,
    outbox.ATTEMPT_LOOK: _attempt_look,
    outbox.TASK_LOOK: _task_look,
    outbox.STOP_START: _start_stop,
    outbox.GRANT_START: _start_grant,
    outbox.GRANT_LOOK: _grant_look,
    outbox.AUTOMATION_FOLLOW: _follow_firing,
    outbox.ATTENTION_LOOK: _attention_look,
}
