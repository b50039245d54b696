"""Agents and notification channels from the command line, against a real host (O4, N9, N12, P15)."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.cli.main import app
from tests.cli.conftest import Ended
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

    async def invoke(*arguments: str, given: str = "") -> Ended:
        ended = await asyncio.to_thread(CliRunner().invoke, app, arguments, env=environment, input=given)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return invoke


async def test_an_agent_lives_in_the_terminal(run: Run) -> None:
    """O4, N12: made, changed, disabled, taken back, deleted; a stale revision and an unknown one are told."""
    assert "twin" in (await run("profiles")).out
    made = await run("profiles", "create", "Aide", "--instructions", "Be brief.", "--json")
    agent_id = made.json()["agent_id"]
    listed = (await run("profiles", "list")).out
    assert all(word in listed for word in (agent_id, "Aide", "enabled", "Be brief."))
    assert (await run("profiles", "update", agent_id)).code == 2
    assert (await run("profiles", "update", agent_id, "--name", "Helper")).out == f"{agent_id} is changed.\n"
    late = await run("profiles", "disable", agent_id, "--revision", "1")
    assert (late.code, late.error()[0]) == (1, "revision_conflict")
    assert (await run("profiles", "disable", agent_id)).out == f"{agent_id} is disabled.\n"
    assert "disabled" in (await run("profiles")).out
    assert (await run("profiles", "update", agent_id, "--enable", "--json")).json()["enabled"] is True
    assert (await run("profiles", "delete", agent_id)).out == f"{agent_id} is deleted.\n"
    gone = await run("profiles", "disable", agent_id, "--json")
    assert (gone.code, json.loads(gone.err)["code"]) == (1, "not_found")
    twin = await run("profiles", "disable", "twin")
    assert (twin.code, twin.error()[0]) == (1, "invalid_params")


async def test_a_channel_is_added_without_showing_its_address(run: Run) -> None:
    """N9, P15: read from standard input, masked from then on, removed alone; the others stay."""
    assert (await run("channels")).out == "No channels.\n"
    first = await run("channels", "add", given="json://localhost/zqtoken\n")
    assert first.code == 0, first.err
    assert "zqtoken" not in first.out
    assert "json://…" in first.out
    both = (await run("channels", "add", "--json", given="json://localhost/other\n")).json()["items"]
    assert len(both) == 2
    left = (await run("channels", "remove", both[0]["channel_id"], "--json")).json()
    assert left == {"items": [both[1]], "next_cursor": None}
    assert [one["channel_id"] for one in (await run("settings", "get", "--json")).json()["channels"]] == [
        both[1]["channel_id"]
    ]
    unknown = await run("channels", "remove", both[0]["channel_id"])
    assert (unknown.code, unknown.error()[0]) == (1, "not_found")
    for wrong in ("", "syslog://\n"):
        refused = await run("channels", "add", given=wrong)
        assert (refused.code, refused.error()[0]) == (1, "invalid_params")
    late = await run("channels", "remove", both[1]["channel_id"], "--revision", "1")
    assert (late.code, late.error()[0]) == (1, "revision_conflict")
