"""Rules of the user (E5-E7): which exact actions they describe, and which actions no rule can describe.

The hard thing is what must not match: a rule covers the described action and no near miss, so a scope holds every field
that decides what happens, and matching is equality of all of them.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import JsonValue

from domain.effect import EffectKind
from domain.effect_scope import FILE_ACTIONS
from domain.gate import Rule
from domain.refusal import Refusal

CONNECTOR_FIELDS: Final = ("server_id", "account", "tool", "recipients", "arguments_sha256")


class RuleMode(StrEnum):
    """What a rule says: go on without asking, or ask every time (E6)."""

    ALLOW = "allow"
    ASK = "ask"


def scope_of(kind: str, action: Mapping[str, Any]) -> dict[str, JsonValue] | Refusal:
    """The scope that a rule made from this action has (E6); it is what the person is shown, and what is saved (E7).

    A file rule is one exact path with the operations on it, whatever the contents; a command rule is the whole action.

    Returns:
        `rule_scope_invalid` for what no rule covers; that is everything but what is named here.
    """
    if kind == EffectKind.FILE:
        operations: list[JsonValue] = list(sorted(FILE_ACTIONS))
        return {"kind": kind, "path": str(action["path"]), "operations": operations}
    if kind == EffectKind.COMMAND:
        if action.get("operation") != "run":
            return _none("what is typed into a running program")
        return {**action, "kind": kind}
    if kind == EffectKind.CONNECTOR:
        if not action.get("account") or any(field not in action for field in CONNECTOR_FIELDS):
            return _none("a tool whose account or recipients its server does not declare")
        return {"kind": kind} | {field: action[field] for field in CONNECTOR_FIELDS}
    return _none("this kind of action")


def matches(scope: Mapping[str, Any], kind: str, action: Mapping[str, Any]) -> bool:
    """Whether a rule with this scope describes this action, exactly (E6)."""
    described = scope_of(kind, action)
    if isinstance(described, Refusal) or scope.get("kind") != kind:
        return False
    if kind == EffectKind.FILE:
        operations = scope.get("operations")
        named = isinstance(operations, list) and f"file.{action['operation']}" in operations
        return named and scope.get("path") == described["path"]
    return dict(scope) == described


def answer(modes: Iterable[str]) -> Rule:
    """What the rules in force that match an action say together: an `ask` rule beats an `allow` rule (E5).

    A mode that is not known asks.
    """
    found = set(modes)
    if not found:
        return Rule.NONE
    return Rule.ALLOW if found == {RuleMode.ALLOW} else Rule.ASK


def _none(what: str) -> Refusal:
    return Refusal("rule_scope_invalid", f"No rule can cover {what}: it is asked about every time.")
