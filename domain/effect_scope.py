"""What an effect acts on, in the terms that grants and rules use (A3, E6): its action's name and its resources."""

from collections.abc import Mapping
from typing import Any

from domain.effect import EffectKind
from domain.grant import Resource

COMMAND_RUN = "command.run"
COMMAND_INPUT = "command.input"
FILE_ACTIONS = ("file.create", "file.replace")


def action_name(kind: str, action: Mapping[str, Any]) -> str:
    """The name of an action for a grant's bounds: its kind and what is done, as `file.create` or `command.run`."""
    if kind == EffectKind.FILE:
        return f"file.{action['operation']}"
    if kind == EffectKind.COMMAND:
        return COMMAND_INPUT if "process_id" in action else COMMAND_RUN
    return f"connector.{action['tool']}"


def resources(kind: str, action: Mapping[str, Any]) -> frozenset[Resource]:
    """Everything that an action acts on: the path, the resolved command, or the account and the tool (A3)."""
    if kind == EffectKind.FILE:
        return frozenset({Resource(kind="path", value=str(action["path"]))})
    if kind == EffectKind.COMMAND:
        return frozenset({Resource(kind="command", value=str(action["executable"]["path"]))})
    return frozenset(
        {
            Resource(kind="account", value=str(action["account"])),
            Resource(kind="mcp_tool", value=f"{action['server_id']}/{action['tool']}"),
        }
    )
