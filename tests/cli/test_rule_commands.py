"""Rules and settings from the command line, against a real host (O4, E5-E8)."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from host.cli.main import app
from host.cli.settings import parse_changes
from store.user_settings import import_choice
from tests.cli.conftest import Ended
from tests.effect_world import SCOPE, Clock, World
from tests.host.conftest import Host
from tests.host.conftest import host as host
from tests.host.conftest import host_settings as host_settings

pytestmark = pytest.mark.timeout(180)
Run = Callable[..., Coroutine[Any, Any, Ended]]


@pytest.fixture
def run(host: Host, tmp_path: Path) -> Run:
    """A function that runs a command in this process, beside the host's loop."""
    environment = {
        "STEWARD_HOME": str(host.settings.home), "STEWARD_PORT": str(host.settings.port),
        "XDG_CONFIG_HOME": str(tmp_path / "none"),
    }  # fmt: skip

    async def invoke(*arguments: str) -> Ended:
        ended = await asyncio.to_thread(CliRunner().invoke, app, arguments, env=environment)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return invoke


@pytest.fixture
async def card(host: Host) -> str:
    """A card of a file that waits."""
    world = World(host.services.database, host.settings.files_dir, host.settings.state_dir, Clock())
    async with world.database.write(SCOPE) as tx:
        await import_choice(tx, "auto_review", False)
    effect = await world.proposed(await world.turn(), path="a.txt", content="hello\n")
    found = await world.card(effect)
    assert found is not None
    return found.approval_id


async def test_a_rule_is_looked_at_saved_switched_and_deleted(run: Run, card: str) -> None:
    """E6, E7, O4: nothing is saved unseen; the card waits on; a stale revision or digest is one line with its code."""
    assert (await run("rules")).out == "No rules.\n"
    shown = await run("rules", "preview", card)
    assert "“a.txt”" in shown.out
    scope = (await run("rules", "preview", card, "--json")).json()
    assert (await run("rules", "save", card)).code == 2
    wrong = await run("rules", "save", card, "--digest", "0" * 64)
    assert (wrong.code, wrong.error()[0]) == (1, "rule_scope_invalid")
    saved = await run("rules", "save", card, "--mode", "ask", "--digest", scope["scope_digest"], "--json")
    rule_id = saved.json()["rule_id"]
    assert card in (await run("approvals")).out
    listed = (await run("rules", "list")).out
    assert rule_id in listed
    assert "ask" in listed
    switched = await run("rules", "update", rule_id, "--mode", "allow", "--pause")
    assert switched.out == f"{rule_id} says allow (paused).\n"
    assert (await run("rules", "update", rule_id)).code == 2
    late = await run("rules", "update", rule_id, "--resume", "--revision", "1", "--json")
    assert (late.code, json.loads(late.err)["code"]) == (1, "revision_conflict")
    assert (await run("rules", "update", rule_id, "--resume")).out == f"{rule_id} says allow.\n"
    assert (await run("rules", "delete", rule_id)).out == f"{rule_id} is deleted.\n"
    assert (await run("rules", "list", "--json")).json()["items"] == []
    gone = await run("rules", "delete", rule_id)
    assert (gone.code, gone.error()[0]) == (1, "not_found")


async def test_settings_are_shown_and_changed(run: Run) -> None:
    """api.md `agents.settings`, E8: what is named changes; what is none is refused by the host."""
    assert "auto_review:" in (await run("settings", "get")).out
    wanted = ("auto_review=off", "quiet_hours.start=23:30", "aggregation_s=60")
    changed = await run("settings", "update", *wanted, "--json")
    assert changed.code == 0, changed.err
    settings = (await run("settings", "get", "--json")).json()
    assert settings == changed.json()
    assert (settings["revision"], settings["auto_review"], settings["aggregation_s"]) == (1, False, 60)
    assert settings["quiet_hours"]["start"] == "23:30"
    late = await run("settings", "update", "auto_review=on", "--revision", "0")
    assert (late.code, late.error()[0]) == (1, "revision_conflict")
    wrong = await run("settings", "update", "auto_review=perhaps")
    assert (wrong.code, wrong.error()[0]) == (1, "invalid_params")
    assert (await run("settings", "update", "auto_review")).code == 2


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (["auto_review=off"], {"auto_review": False}),
        (["language=zh", "aggregation_s=0"], {"language": "zh", "aggregation_s": 0}),
        (["quiet_hours.enabled=on", "quiet_hours.end=07:00"], {"quiet_hours": {"enabled": True, "end": "07:00"}}),
        (["notifications.agents.my.agent=default"], {"notifications": {"agents": {"my.agent": None}}}),
    ],
)
def test_changes_are_read(words: list[str], changes: dict[str, Any]) -> None:
    """Nested names, switches, numbers, and text."""
    assert parse_changes(words) == changes


@pytest.mark.parametrize("words", ["x", "=on", "a..b=on", "a=on a=off", "a=on a.b=on", "a.b=on a=on"])
def test_what_is_no_change_is_a_usage_error(words: str) -> None:
    """O4: no value, no name, or twice."""
    with pytest.raises(typer.BadParameter):
        parse_changes(words.split())
