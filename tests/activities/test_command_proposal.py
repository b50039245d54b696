"""From a model's call to the card of a command (E2, E3, E9, E16): the exact action, or a refusal without a card."""

import hashlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from store.effect_views import approval_page, approval_view
from tests.activities.command_machine import CommandMachine, command_machine
from tests.activities.conftest import Told
from tests.effect_world import SCOPE, World

SHELL = Path(os.path.realpath("/bin/sh"))
SHELL_SHA256 = hashlib.sha256(SHELL.read_bytes()).hexdigest()


@pytest.fixture(params=[False, None], ids=["unconfined", "as-here"])
async def machine(world: World, told: Told, request: pytest.FixtureRequest) -> AsyncIterator[CommandMachine]:
    """A machine without bubblewrap, and one with what this one has."""
    async with command_machine(world, told, confined=request.param) as opened:
        yield opened


async def test_the_action_has_all_that_decides(machine: CommandMachine, world: World) -> None:
    """E2, E15: argv, the resolved program by content, the folder, names and digest of the environment, input."""
    (world.folder / "notes").mkdir()
    effect = await machine.proposed(
        await world.turn(), "sh", "-c", "cat; echo $A", cwd="notes", env={"A": "planted-value"}, stdin="planted-input"
    )
    assert (effect.kind, effect.state) == ("command", "waiting_decision")
    confined = machine.confinement.works
    environment = effect.action.pop("environment")
    assert effect.action == {
        "kind": "command",
        "operation": "run",
        "argv": ["sh", "-c", "cat; echo $A"],
        "executable": {"path": str(SHELL), "sha256": SHELL_SHA256},
        "cwd": str(world.folder / "notes"),
        "permissions": {"network": not confined, "confined": confined},
        "stdin_sha256": hashlib.sha256(b"planted-input").hexdigest(),
        "interactive": False,
    }
    assert environment["names"] == ["A", "HOME", "LANG", "PATH", "TERM"]
    stored = json.dumps([effect.action, environment, effect.words, effect.impact])
    assert "planted" not in stored


async def test_the_card_says_whether_it_is_confined_and_shows_the_whole(machine: CommandMachine, world: World) -> None:
    """E9, E16: words, impact, `confined`; the whole command with its values on demand, in details only."""
    effect = await machine.proposed(await world.turn(), "sh", "-c", "echo \u202e", env={"A": "planted"})
    card = await world.card(effect)
    assert card is not None
    async with world.database.read(SCOPE) as tx:
        [listed] = (await approval_page(tx, None, 10, None))["items"]
        shown = await approval_view(tx, card.approval_id, details=True)
    assert listed["confined"] is machine.confinement.works
    assert "details" not in listed
    assert "⟦U+202E⟧" in listed["words"]
    assert "planted" not in json.dumps(listed)
    assert set(shown["details"]) == {"command"}
    assert "environment: A=planted" in shown["details"]["command"].splitlines()
    assert str(world.folder) not in json.dumps(shown)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"argv": ["no-such-program"]}, "not_found"),
        ({"argv": ["./plain"]}, "invalid_params"),
        ({"argv": ["sh"], "cwd": ".."}, "protected_path"),
        ({"argv": ["sh"], "cwd": "/etc"}, "protected_path"),
        ({"argv": ["sh"], "cwd": "link"}, "protected_path"),
        ({"argv": ["sh"], "cwd": "none"}, "not_found"),
        ({"argv": ["../state/tool"]}, "protected_path"),
        ({"argv": []}, "invalid_params"),
        ({"argv": ["sh", "\0"]}, "invalid_params"),
        ({"argv": ["sh"], "timeout_s": 99999}, "invalid_params"),
    ],
)
async def test_what_cannot_run_is_refused_without_a_card(
    machine: CommandMachine, world: World, given: dict[str, Any], code: str
) -> None:
    """E3: the refusal is the call's result; no message names an absolute path."""
    (world.folder / "plain").write_text("x")
    (world.folder / "link").symlink_to("/etc")
    (world.state / "tool").write_text("#!/bin/sh\n")
    (world.state / "tool").chmod(0o755)
    error = await machine.refused(await world.turn(), "run_command", **given)
    assert error["code"] == code
    assert str(world.folder.parent) not in error["message"]


@pytest.mark.parametrize(
    "given",
    [
        {"argv": ["cat", "{state}/secret"]},
        {"argv": ["cat", "../state/secret"]},
        {"argv": ["sh", "-c", "cat < ../state/secret"]},
        {"argv": ["cat", "link"]},
        {"argv": ["sh"], "stdin": "cat {state}/secret\n"},
        {"argv": ["env"], "env": {"A": "{state}"}},
    ],
    ids=["path", "relative", "script", "link", "stdin", "environment"],
)
async def test_unconfined_nothing_may_lead_into_the_state(
    machine: CommandMachine, world: World, given: dict[str, Any]
) -> None:
    """E16: refused where the state cannot be hidden; confined, it is hidden instead."""
    (world.folder / "link").symlink_to(world.state / "secret")
    filled = json.loads(json.dumps(given).replace("{state}", str(world.state)))
    if machine.confinement.works:
        effect = await machine.called(await world.turn(), "run_command", 1, **filled)
        assert effect.state == "waiting_decision"
    else:
        error = await machine.refused(await world.turn(), "run_command", **filled)
        assert error["code"] == "protected_path"


async def test_input_to_nothing_is_not_found(machine: CommandMachine, world: World) -> None:
    """E15: an unknown process id, and one of another run."""
    run = await world.task()
    for number, process_id in enumerate(("process_unknown", "nonsense"), start=1):
        error = await machine.refused(run, "process_input", number, process_id=process_id, text="x")
        assert error["code"] == "not_found"
