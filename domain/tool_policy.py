"""Which agent may use which built-in tool and hand on what (E3): where capability policies are asked."""

from domain.grant import PERMISSIONS
from domain.refusal import Refusal


def built_in_tool_allowed(name: str, agent_id: str, permission_mode: str) -> Refusal | None:
    """Say whether an agent may cause an effect with a built-in tool; None is a yes.

    Every agent has the built-in tools; a run in mode `read_only` has none that changes anything.

    Args:
        name: the tool.
        agent_id: the responsible agent.
        permission_mode: the run's mode (api.md).

    Returns:
        `policy_denied` for a no.
    """
    if permission_mode == "standard":
        return None
    return Refusal("policy_denied", f"{name} is not allowed: {agent_id} works in the mode {permission_mode} here.")


def mode_handed_on(wanted: str | None, own: str) -> str | Refusal | None:
    """The permission mode of work that a run hands to somebody else: never wider than the run's own (E3, A3, A15).

    What a run may not do it cannot have done by a task, a sub-task or a task that it resumes.

    Args:
        wanted: the mode that was asked for; None where none was.
        own: the run's mode.

    Returns:
        The mode; None where none was asked for and the run's own is the usual one; `policy_denied` for a wider one. A
        mode that does not exist is left to whoever checks modes.
    """
    if wanted is None:
        return None if own == "standard" else own
    if own not in PERMISSIONS or (wanted in PERMISSIONS and PERMISSIONS.index(wanted) > PERMISSIONS.index(own)):
        words = f"This work is done in the mode {own}, and cannot have more done in the mode {wanted}."
        return Refusal("policy_denied", words)
    return wanted
