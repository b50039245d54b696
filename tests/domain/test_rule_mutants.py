"""Scopes of rules, whole (E6, E7): what is saved is what is shown, and a no is said in words."""

from typing import Any

import pytest

from domain.refusal import Refusal
from domain.rule import CONNECTOR_FIELDS, RuleMode, matches, scope_of
from tests.domain.refusal_words import assert_readable

CONNECTOR: dict[str, Any] = {
    "kind": "connector", "server_id": "mail", "account": "me@example.org", "tool": "send",
    "recipients": ["you@example.org"], "arguments_sha256": "a" * 64,
}  # fmt: skip


def test_a_scope_holds_what_decides_and_nothing_else() -> None:
    """E6, E7: the file's path with the operations; the whole command; of a call its five fields."""
    file = {"kind": "file", "operation": "create", "path": "/files/a", "content_sha256": "a" * 64}
    assert scope_of("file", file) == {"kind": "file", "path": "/files/a", "operations": ["file.create", "file.replace"]}
    command = {"kind": "command", "operation": "run", "argv": ["make"], "cwd": "/files"}
    assert scope_of("command", command) == command
    del command["kind"]
    assert scope_of("command", command) == {**command, "kind": "command"}
    assert scope_of("connector", CONNECTOR | {"label": "to you"}) == CONNECTOR


def test_modes_and_fields_are_those_of_the_wire() -> None:
    """E6: names that rows and clients hold never change."""
    assert [one.value for one in RuleMode] == ["allow", "ask"]
    assert CONNECTOR_FIELDS == ("server_id", "account", "tool", "recipients", "arguments_sha256")


@pytest.mark.parametrize("missing", ["server_id", "account", "tool", "recipients", "arguments_sha256"])
def test_a_call_with_a_field_too_few_is_asked_about(missing: str) -> None:
    """E6: what its server does not declare cannot be compared."""
    refused = scope_of("connector", {key: value for key, value in CONNECTOR.items() if key != missing})
    assert isinstance(refused, Refusal)
    assert not matches(CONNECTOR, "connector", {key: value for key, value in CONNECTOR.items() if key != missing})


@pytest.mark.parametrize(
    ("kind", "action", "about"),
    [
        ("command", {"operation": "input"}, "typed into a running program"),
        ("command", {}, "typed into a running program"),
        ("connector", {}, "account or recipients its server does not declare"),
        ("engine", {}, "this kind of action"),
    ],
)
def test_a_no_says_what_cannot_be_covered(kind: str, action: dict[str, Any], about: str) -> None:
    """E6: with its code, and that the person is asked every time instead."""
    refused = scope_of(kind, action)
    assert isinstance(refused, Refusal)
    assert refused.code == "rule_scope_invalid"
    assert_readable(refused)
    assert about in refused.message
    assert refused.message.startswith("No rule can cover ")
    assert refused.message.endswith(": it is asked about every time.")


@pytest.mark.parametrize("spoiled", [{}, {"operations": None}, {"operations": "file.create"}, {"path": "/files/b"}])
def test_a_spoiled_scope_describes_nothing(spoiled: dict[str, Any]) -> None:
    """E6: a row that lost its operations or names another path does not match by accident."""
    action = {"operation": "create", "path": "/files/a"}
    whole = {"kind": "file", "path": "/files/a", "operations": ["file.create"]}
    assert matches(whole, "file", action)
    assert not matches(whole | spoiled if spoiled else {"kind": "file"}, "file", action)
    assert not matches({key: value for key, value in whole.items() if key != "kind"}, "file", action)
