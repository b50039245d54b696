"""How each workflow is started: its name, id, queue, attributes and summary, for the relay and for parents alike."""

from collections.abc import Mapping
from dataclasses import dataclass

from temporalio.common import TypedSearchAttributes

from contracts import names
from contracts.attention import AttentionRef
from contracts.automations import AutomationRef
from contracts.conversation import ConversationRef, TurnRef
from contracts.deliveries import DeliveryRef
from contracts.effects import EffectRef
from contracts.grants import GrantRef
from contracts.run import Wire
from contracts.search_attributes import attributes
from contracts.stops import IntentRef
from contracts.tasks import TaskRef
from domain.run import RunRef


@dataclass(frozen=True, slots=True)
class WorkflowStart:
    """What a start call takes; texts are fixed words and ids, never a person's (I9)."""

    workflow: str
    argument: Wire | RunRef
    workflow_id: str
    search_attributes: TypedSearchAttributes
    summary: str
    task_queue: str = names.SHARED_QUEUE
    memo: Mapping[str, str | int] | None = None


def conversation_start(ref: ConversationRef) -> WorkflowStart:
    """The conversation of a user space (C1)."""
    return WorkflowStart(
        "ConversationWorkflow",
        ref,
        names.conversation_workflow(ref.user_space, ref.domain),
        attributes(ref.user_space, ref.domain, "conversation", "running"),
        f"Main conversation of {ref.user_space}/{ref.domain}",
    )


def turn_start(turn: TurnRef) -> WorkflowStart:
    """One reply."""
    run = turn.run
    return WorkflowStart(
        "TurnWorkflow",
        turn,
        names.turn_workflow(run.turn_id or ""),
        attributes(run.user_space, run.domain, "turn", "running", agent=run.agent_id, engine=run.engine),
        "One reply of the assistant",
    )


def task_start(ref: TaskRef) -> WorkflowStart:
    """One task (T18)."""
    return WorkflowStart(
        "TaskWorkflow",
        ref,
        names.task_workflow(ref.task_id),
        attributes(ref.user_space, ref.domain, "task", "running", agent=ref.agent_id, engine=ref.engine),
        "Hidden task",
    )


def attempt_start(run: RunRef) -> WorkflowStart:
    """One execution of one requirement version (T18).

    It has no state attribute while it runs or when it succeeded: one event less in the history of every task.
    """
    return WorkflowStart(
        "AttemptWorkflow",
        run,
        names.attempt_workflow(run.task_id or "", run.requirement_version, run.attempt),
        attributes(run.user_space, run.domain, "attempt", None, agent=run.agent_id, engine=run.engine),
        f"Requirement {run.requirement_version}, attempt {run.attempt}",
    )


def effect_start(ref: EffectRef) -> WorkflowStart:
    """One effect (E18)."""
    return WorkflowStart(
        "EffectWorkflow",
        ref,
        names.effect_workflow(ref.effect_id),
        attributes(ref.user_space, ref.domain, "effect", "running", effect="waiting_decision"),
        f"Effect of kind {ref.kind}",
    )


def delivery_start(ref: DeliveryRef) -> WorkflowStart:
    """One delivery (D11)."""
    return WorkflowStart(
        "DeliveryWorkflow",
        ref,
        names.delivery_workflow(ref.delivery_id),
        attributes(ref.user_space, ref.domain, "delivery", "running", delivery="waiting"),
        f"Delivery of a {ref.kind}",
    )


def stop_start(ref: IntentRef) -> WorkflowStart:
    """One stop intent (S12)."""
    return WorkflowStart(
        "StopWorkflow",
        ref,
        names.stop_workflow(ref.intent_id),
        attributes(ref.user_space, ref.domain, "stop", "running"),
        "Stop of a task and its descendants",
    )


def grant_start(ref: GrantRef) -> WorkflowStart:
    """One grant (A12)."""
    return WorkflowStart(
        "GrantWorkflow",
        ref,
        names.grant_workflow(ref.grant_id),
        attributes(ref.user_space, ref.domain, "grant", "running"),
        "A grant and its expiry",
    )


def automation_start(ref: AutomationRef) -> WorkflowStart:
    """One firing (U1), as the automation's schedule starts it; its id there lacks the nominal time.

    Raises:
        ValueError: for a reference without the nominal time.
    """
    if ref.nominal_time is None:
        raise ValueError("a firing that no schedule starts has to be told its nominal time")
    return WorkflowStart(
        "AutomationWorkflow",
        ref,
        names.automation_workflow(ref.automation_id, ref.nominal_time),
        automation_attributes(ref),
        AUTOMATION_SUMMARY,
        memo=ref.memo,
    )


AUTOMATION_SUMMARY = "One firing of an automation"


def automation_attributes(ref: AutomationRef) -> TypedSearchAttributes:
    """What a firing is found by, whoever starts it."""
    return attributes(
        ref.user_space, ref.domain, "automation", "running", agent=ref.agent_id, automation=ref.automation_id
    )


def attention_start(ref: AttentionRef) -> WorkflowStart:
    """The news of one agent, until there is none (N10)."""
    return WorkflowStart(
        "AttentionWorkflow",
        ref,
        names.attention_workflow(ref.user_space, ref.agent_id),
        attributes(ref.user_space, ref.domain, "attention", "running", agent=ref.agent_id),
        "News of an agent, until it is announced",
    )
