"""Agents of the person (api.md `agents.profiles`): twin, who is always there, and others with own instructions."""

from typing import Final

from domain.limits import check_text
from domain.refusal import Refusal

TWIN: Final = "twin"
TWIN_NAME: Final = "Twin"
NAME_CHARACTERS: Final = 100
PROFILES: Final = 199
"""Agents beside twin; as many as the settings have switches for."""
INSTRUCTIONS_BYTES: Final = 16 * 1024
"""They are part of every prompt of the agent's tasks."""
_TWIN_STAYS: Final = Refusal(
    "invalid_params", "twin is the conversation's own agent: it cannot be disabled or deleted."
)


def works(agent_id: str, *, known: bool, disabled: bool) -> bool:
    """Whether this is an agent that works (N12): one that is known and not disabled, and twin, who needs no row."""
    return not disabled if known else agent_id == TWIN


def check_name(name: str) -> str | Refusal:
    """A name that people can read: one line, not blank, at most 100 characters."""
    if len(name) > NAME_CHARACTERS:
        message = f"The name has {len(name)} characters; at most {NAME_CHARACTERS} are accepted."
        return Refusal("invalid_params", message, {"field": "name", "limit": NAME_CHARACTERS, "value": len(name)})
    if not name.isprintable():
        return Refusal("invalid_params", "The name has characters that cannot be seen.", {"field": "name"})
    return check_text(name, field="name")


def check_instructions(text: str) -> str | Refusal:
    """What the agent is told with each of its tasks; it may be empty."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > INSTRUCTIONS_BYTES:
        message = f"The instructions are {size} bytes; an agent's may be {INSTRUCTIONS_BYTES}. Put the rest into tasks."
        return Refusal("invalid_params", message, {"field": "instructions", "limit": INSTRUCTIONS_BYTES, "value": size})
    return check_text(text, field="instructions", may_be_empty=True)


def check_model(model: str | None, in_use: str) -> str | Refusal | None:
    """The model of an agent's tasks: the one this host runs tasks with, or None for whatever that is."""
    if model in (None, in_use):
        return model
    message = f"This host runs tasks with {in_use}. Leave model away, or set STEWARD_TASK_MODEL."
    return Refusal("invalid_params", message, {"field": "model"})


def may_end(agent_id: str) -> Refusal | None:
    """Whether an agent may be disabled or deleted at all."""
    return _TWIN_STAYS if agent_id == TWIN else None
