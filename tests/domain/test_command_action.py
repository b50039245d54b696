"""The exact action of a command (E2) and when a running one must end (E15): every deciding field, and no other."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.command_action import (
    LONGEST_TIMEOUT_S,
    OUTPUT_BYTES,
    TIMEOUT_S,
    CommandAction,
    CommandInput,
    Environment,
    Executable,
    Permissions,
    ProcessInputAction,
    command_action,
    effect_of,
    process_of,
)
from domain.effect_scope import action_name, resources
from domain.process_end import IDLE_LIMIT_S, Why, why_to_end
from domain.rule import matches, scope_of
from store.action_digest import action_digest

ONE, TWO = (hashlib.sha256(text).hexdigest() for text in (b"1", b"2"))
ACTION: dict[str, Any] = {
    "argv": ("make", "test"),
    "executable": Executable(path="/usr/bin/make", sha256=ONE),
    "cwd": "/files/notes",
    "environment": Environment(names=("HOME", "PATH"), sha256=ONE),
    "permissions": Permissions(network=False, confined=True),
    "stdin_sha256": ONE,
    "interactive": False,
}
CHANGES: tuple[dict[str, Any], ...] = (
    {"argv": ("make", "tests")},
    {"argv": ("make", "test", "")},
    {"argv": ("make test",)},
    {"executable": Executable(path="/usr/local/bin/make", sha256=ONE)},
    {"executable": Executable(path="/usr/bin/make", sha256=TWO)},
    {"cwd": "/files"},
    {"environment": Environment(names=("HOME", "PATH", "X"), sha256=ONE)},
    {"environment": Environment(names=("HOME", "PATH"), sha256=TWO)},
    {"permissions": Permissions(network=True, confined=True)},
    {"permissions": Permissions(network=False, confined=False)},
    {"stdin_sha256": TWO},
    {"interactive": True},
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_every_field_decides(change: dict[str, Any]) -> None:
    """E2, E6: another value is another digest, and no rule made of the one describes the other."""
    action, other = CommandAction(**ACTION), CommandAction(**ACTION | change)
    assert action_digest(action.fields()) != action_digest(other.fields())
    scope = scope_of("command", action.fields())
    assert isinstance(scope, dict)
    assert matches(scope, "command", action.fields())
    assert not matches(scope, "command", other.fields())


def test_an_action_comes_back_from_its_stored_form() -> None:
    """E2: what was stored is what is done; a digest is taken of the same."""
    action = CommandAction(**ACTION)
    typed = ProcessInputAction(
        process_id="process_1", executable=Executable(path="/usr/bin/make", sha256=ONE), text_sha256=TWO, text_size=3
    )
    assert [command_action(one.fields()) for one in (action, typed)] == [action, typed]
    assert action_digest(action.fields()) == action_digest(command_action(action.fields()).fields())


@pytest.mark.parametrize(
    "spoiled", [{"argv": []}, {"cwd": None}, {"extra": 1}, {"operation": "walk"}, {"kind": "file"}]
)
def test_what_is_no_action_is_none(spoiled: dict[str, Any]) -> None:
    """E2: a row that was tampered with is not read as something else."""
    with pytest.raises(ValidationError):
        command_action(CommandAction(**ACTION).fields() | spoiled)


def test_grants_know_commands_by_their_program() -> None:
    """A3: running and typing are two actions on the resolved program."""
    action = CommandAction(**ACTION)
    typed = ProcessInputAction(process_id="process_1", executable=action.executable, text_sha256=TWO, text_size=3)
    assert action_name("command", action.fields()) == "command.run"
    assert action_name("command", typed.fields()) == "command.input"
    assert resources("command", action.fields()) == resources("command", typed.fields())


def test_the_values_come_back_from_their_stored_form() -> None:
    """E2: the input and environment that the digests are of."""
    values = CommandInput(stdin="a\n字", environment={"X": "1"}, timeout_s=7)
    assert CommandInput.read(values.content()) == values


@given(st.text(alphabet="0123456789abcdefghijklmnopqrstuvwxyz_", min_size=1))
def test_a_process_is_found_by_its_effect(tail: str) -> None:
    """E15: the id that the model is told leads back to the effect that started it."""
    assert effect_of(process_of(f"effect_{tail}")) == f"effect_{tail}"
    assert effect_of(f"effect_{tail}") is None


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({}, None),
        ({"stopped": True}, Why.STOPPED),
        ({"stopped": True, "live": False}, Why.STOPPED),
        ({"live": False}, Why.RUN_ENDED),
        ({"idle_s": IDLE_LIMIT_S * 2}, None),
        ({"interactive": True, "idle_s": IDLE_LIMIT_S - 0.1}, None),
        ({"interactive": True, "idle_s": IDLE_LIMIT_S}, Why.IDLE),
    ],
)
def test_when_a_command_must_end(facts: dict[str, Any], why: Why | None) -> None:
    """E15, S6: a stop, the end of its run, and for one that waits for input half an hour without any."""
    ordinary: dict[str, Any] = {"stopped": False, "live": True, "interactive": False, "idle_s": 0.0}
    assert why_to_end(**ordinary | facts) is why


def test_the_stored_forms_are_whole() -> None:
    """E2: every field with its value, so that a decision shows and a digest covers all of it."""
    assert CommandAction(**ACTION).fields() == {
        "kind": "command", "operation": "run", "argv": ["make", "test"],
        "executable": {"path": "/usr/bin/make", "sha256": ONE}, "cwd": "/files/notes",
        "environment": {"names": ["HOME", "PATH"], "sha256": ONE},
        "permissions": {"network": False, "confined": True}, "stdin_sha256": ONE, "interactive": False,
    }  # fmt: skip
    typed = ProcessInputAction(
        process_id="process_1", executable=Executable(path="/usr/bin/make", sha256=ONE), text_sha256=TWO, text_size=3
    )
    assert typed.fields() == {
        "kind": "command", "operation": "input", "process_id": "process_1",
        "executable": {"path": "/usr/bin/make", "sha256": ONE}, "text_sha256": TWO, "text_size": 3,
    }  # fmt: skip


def test_the_limits_are_those_of_the_requirement() -> None:
    """E15: ten minutes unless named, at most an hour, at least a second; 256 KiB of output."""
    assert (TIMEOUT_S, LONGEST_TIMEOUT_S, OUTPUT_BYTES) == (600, 3600, 256 * 1024)
    assert CommandInput() == CommandInput(stdin="", environment={}, timeout_s=600)
    for seconds in (0, -1, 3601):
        with pytest.raises(ValidationError):
            CommandInput(timeout_s=seconds)
    assert [CommandInput(timeout_s=seconds).timeout_s for seconds in (1, 3600)] == [1, 3600]


def test_ids_of_processes_are_those_of_their_effects() -> None:
    """E15: a fixed form that clients and the model hold."""
    assert process_of("effect_01J") == "process_01J"
    assert effect_of("process_01J") == "effect_01J"
    assert effect_of("01J") is None
    assert effect_of("a process_01J") is None
