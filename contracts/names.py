"""Names that cross a boundary: task queues and workflow ids (architecture.md), built here and nowhere else."""

from datetime import datetime

from domain.automation_firing import nominal_name

SHARED_QUEUE = "steward"


def files_queue(user_space: str, domain: str) -> str:
    """Queue of the worker on the machine that holds a host's files."""
    return f"steward-files:{user_space}:{domain}"


def host_queue(user_space: str, domain: str) -> str:
    """Queue that the host itself serves: streamed replies, delivery submission."""
    return f"steward-host:{user_space}:{domain}"


def conversation_workflow(user_space: str, domain: str) -> str:
    """Id of the one ConversationWorkflow of a user space and domain (C1)."""
    return f"conversation:{user_space}:{domain}"


def turn_workflow(turn_id: str) -> str:
    """Id of a TurnWorkflow (C1)."""
    return f"turn:{turn_id}"


def task_workflow(task_id: str) -> str:
    """Id of a TaskWorkflow (T18)."""
    return f"task:{task_id}"


def attempt_run(task_id: str, requirement_version: int, attempt: int) -> str:
    """Run id of an attempt; the workflow id is this with its prefix."""
    return f"{task_id}:{requirement_version}:{attempt}"


def attempt_workflow(task_id: str, requirement_version: int, attempt: int) -> str:
    """Id of an AttemptWorkflow (T18)."""
    return f"attempt:{attempt_run(task_id, requirement_version, attempt)}"


def effect_workflow(effect_id: str) -> str:
    """Id of an EffectWorkflow (E18)."""
    return f"effect:{effect_id}"


def delivery_workflow(delivery_id: str) -> str:
    """Id of a DeliveryWorkflow (D11)."""
    return f"delivery:{delivery_id}"


def stop_workflow(intent_id: str) -> str:
    """Id of a StopWorkflow (S12)."""
    return f"stop:{intent_id}"


def grant_workflow(grant_id: str) -> str:
    """Id of a GrantWorkflow (A12)."""
    return f"grant:{grant_id}"


def attention_workflow(user_space: str, agent_id: str) -> str:
    """Id of the AttentionWorkflow of an agent (N10)."""
    return f"attention:{user_space}:{agent_id}"


def automation_schedule(automation_id: str) -> str:
    """Id of an automation's Temporal Schedule (U1)."""
    return f"automation:{automation_id}"


def automation_action(automation_id: str) -> str:
    """Id that an automation's schedule gives its workflows; Temporal appends the nominal time to it."""
    return f"automation-run:{automation_id}"


def automation_workflow(automation_id: str, nominal_time: datetime) -> str:
    """Id of the AutomationWorkflow of one nominal time, whoever starts it: the same that the schedule gives (U5)."""
    return f"{automation_action(automation_id)}-{nominal_name(nominal_time)}"
