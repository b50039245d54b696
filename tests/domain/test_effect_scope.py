"""What grants and the capability policy know an effect by (A3, E3): names of actions, resources, tools."""

from typing import Any

import pytest

from domain.effect_scope import FILE_ACTIONS, action_name, resources
from domain.grant import Resource
from domain.grant_bounds import FILE_WORK
from domain.tool_policy import built_in_tool_allowed

FILE: dict[str, Any] = {"operation": "create", "path": "/files/a"}
RUN: dict[str, Any] = {"operation": "run", "executable": {"path": "/usr/bin/make", "sha256": "a" * 64}}
INPUT = RUN | {"operation": "input", "process_id": "process_1"}
CALL: dict[str, Any] = {"server_id": "mail", "account": "me@example.org", "tool": "send"}


@pytest.mark.parametrize(
    ("kind", "action", "name", "acts_on"),
    [
        ("file", FILE, "file.create", {("path", "/files/a")}),
        ("file", FILE | {"operation": "replace"}, "file.replace", {("path", "/files/a")}),
        ("command", RUN, "command.run", {("command", "/usr/bin/make")}),
        ("command", INPUT, "command.input", {("command", "/usr/bin/make")}),
        ("connector", CALL, "connector.send", {("account", "me@example.org"), ("mcp_tool", "mail/send")}),
    ],
)
def test_each_action_has_its_name_and_everything_it_acts_on(
    kind: str, action: dict[str, Any], name: str, acts_on: set[tuple[str, str]]
) -> None:
    """A3: a grant that lists these covers it, and one that misses any of them does not."""
    assert action_name(kind, action) == name
    assert resources(kind, action) == {Resource.model_validate({"kind": of, "value": at}) for of, at in acts_on}


def test_work_on_files_is_making_and_changing_them() -> None:
    """A11: what a grant for files holds; nothing that deletes."""
    assert set(FILE_ACTIONS) == {"file.create", "file.replace"} == FILE_WORK


@pytest.mark.parametrize("mode", ["read_only", "unconfined", "", "Standard", "anything"])
def test_only_the_standard_mode_changes_anything(mode: str) -> None:
    """E3: the capability policy's no names tool, agent and mode."""
    assert built_in_tool_allowed("write_file", "twin", "standard") is None
    refusal = built_in_tool_allowed("write_file", "twin", mode)
    assert refusal is not None
    assert refusal.code == "policy_denied"
    assert refusal.message == f"write_file is not allowed: twin works in the mode {mode} here."
