"""Automations from the command line, against a real host (O4, U1, U3, U7-U9)."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from domain.automation import Binding
from host.cli.automation_times import named_time
from host.cli.automation_words import run_words, schedule_of_options
from host.cli.main import app
from store import automation_proposals
from store.automation_proposal_rows import Asked
from tests.automation_owner import WEEKDAYS, schedule
from tests.cli.conftest import Ended
from tests.effect_world import SCOPE
from tests.host.conftest import Host
from tests.host.conftest import host as host
from tests.host.conftest import host_settings as host_settings

pytestmark = pytest.mark.timeout(180)
Run = Callable[..., Coroutine[Any, Any, Ended]]
WORK = ("Morning", "summarise notes.txt into today.md")
BERLIN = ("--cron", "0 8 * * 1-5", "--timezone", "Europe/Berlin")


@pytest.fixture
def run(host: Host, tmp_path: Path) -> Run:
    """A function that runs a command in this process, beside the host's loop."""
    environment = {
        "STEWARD_HOME": str(host.settings.home), "STEWARD_PORT": str(host.settings.port),
        "XDG_CONFIG_HOME": str(tmp_path / "none"),
    }  # fmt: skip

    async def invoke(*arguments: str, group: str = "automations") -> Ended:
        ended = await asyncio.to_thread(CliRunner().invoke, app, (group, *arguments), env=environment)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return invoke


async def test_an_automation_lives_in_the_terminal(run: Run) -> None:
    """O4, U3, U7: made with its times shown, moved, changed, paused, fired, deleted; a stale revision is told."""
    assert (await run()).out == "No automations.\n"
    unasked = await run("create", *WORK, *BERLIN)
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    made = await run("create", *WORK, *BERLIN, "--yes")
    assert made.code == 0, made.err
    assert "every weekday at 08:00, Europe/Berlin\nNext, Europe/Berlin:\n" in made.out
    assert made.out.count(" 08:00:00\n") == 5
    [item] = (await run("list", "--json")).json()["items"]
    automation_id = item["automation_id"]
    assert made.out.startswith(f"{automation_id} is active:")
    listed = (await run("list")).out
    assert all(word in listed for word in (automation_id, "Morning", "every weekday at 08:00"))
    assert " 08:00:00 Europe/Berlin" in listed
    assert item["next_times"][0].endswith("Z")
    moved = await run("reschedule", automation_id, "--every", "15m", "--yes", "--json")
    assert (moved.json()["schedule_revision"], moved.json()["schedule"]["every"]) == (
        2,
        {"seconds": 900, "offset_s": 0},
    )
    assert (await run("update", automation_id)).code == 2
    assert (await run("update", automation_id, "--title", "Evening", "--catchup", "0")).out.endswith(" is changed.\n")
    assert (await run("pause", automation_id)).out == f"{automation_id} is paused.\n"
    late = await run("resume", automation_id, "--revision", "1")
    assert (late.code, late.error()[0]) == (1, "revision_conflict")
    assert (await run("resume", automation_id)).out == f"{automation_id} is active.\n"
    fired = await run("trigger", automation_id)
    assert fired.out.startswith(f"{automation_id}: ran: task_")
    shown = (await run("show", automation_id)).out
    assert "Next, UTC" in shown
    assert "time, UTC" in shown
    assert all(word in shown for word in ("Evening", "notes.txt", "manual", "every 15 minutes"))
    assert len((await run("show", automation_id, "--json")).json()["next_times"]) == 5
    allowed = await run("issue", automation_id, "--yes", group="grants")
    assert allowed.out.splitlines()[-1].startswith(f"{automation_id} is allowed until ")
    assert "active, until" in (await run("show", automation_id)).out
    assert (await run("delete", automation_id)).out == f"{automation_id} is deleted.\n"
    gone = await run("show", automation_id, "--json")
    assert (gone.code, json.loads(gone.err)["code"]) == (1, "not_found")


async def test_a_proposal_is_confirmed(run: Run, host: Host) -> None:
    """U9: listed with its next time, made real by its id, once."""
    async with host.services.database.write(SCOPE) as tx:
        binding = Binding("Morning", "summarise notes.txt into today.md")
        proposal = await automation_proposals.propose_new(tx, binding, schedule(WEEKDAYS), Asked("call"))
    listed = (await run("list")).out
    assert proposal.proposal_id in listed
    assert " 08:00:00 Europe/Berlin" in listed
    assert "every weekday at 08:00" in listed
    assert (await run("confirm", proposal.proposal_id)).code == 2
    confirmed = await run("confirm", proposal.proposal_id, "--yes")
    assert "is active:" in confirmed.out
    again = await run("confirm", proposal.proposal_id, "--yes")
    assert (again.code, again.error()[0]) == (1, "not_found")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((), 2, "exactly one"),
        (("--every", "900", "--at", "2090-01-01T00:00:00Z"), 2, "exactly one"),
        (("--every", "often"), 2, "15m"),
        (("--cron", "0 8 * * *", "--yes"), 1, "invalid_params"),
        (("--cron", "0 8 * *", "--timezone", "UTC", "--yes"), 1, "invalid_params"),
        (("--at", "2020-01-01T00:00:00Z", "--yes"), 1, "invalid_params"),
        (("--every", "900", "--yes", "--agent", "nobody"), 1, "not_found"),
    ],
)
async def test_what_is_no_schedule(run: Run, options: tuple[str, ...], code: int, words: str) -> None:
    """O4: wrong use is 2, what the host refuses is 1 with its code; nothing is made."""
    ended = await run("create", *WORK, *options)
    assert ended.code == code
    assert words in " ".join(ended.err.replace("│", " ").split())
    assert (await run("list", "--json")).json()["items"] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("0 8 * * *", None, None, "UTC"), {"cron": {"expression": "0 8 * * *"}, "timezone": "UTC"}),
        ((None, "900", None, None), {"every": {"seconds": 900}}),
        ((None, "6h", None, None), {"every": {"seconds": 21_600}}),
        (
            (None, None, "2027-03-01T08:00", "Asia/Tokyo"),
            {"once": {"at": "2027-03-01T08:00"}, "timezone": "Asia/Tokyo"},
        ),
    ],
)
def test_options_spell_a_schedule(options: tuple[str | None, ...], expected: dict[str, Any]) -> None:
    """O4, U2: as the wire takes it."""
    assert schedule_of_options(*options) == expected


@pytest.mark.parametrize(
    ("given", "wire", "expected"),
    [
        ({"schedule": {"timezone": "Asia/Tokyo"}}, "2027-03-01T08:00:00.000Z", "2027-03-01 17:00:00 Asia/Tokyo"),
        ({"schedule": {"every": {"seconds": 900}}}, "2027-03-01T08:00:00.000Z", "2027-03-01 08:00:00 UTC"),
        ({"schedule": {"timezone": "Mars/Base"}}, "2027-03-01T08:00:00.000Z", "2027-03-01 08:00:00 UTC"),
        ({"schedule": {}}, None, None),
        (
            {"schedule": {"timezone": "Europe/Berlin"}},
            "2027-10-31T00:30:00Z",
            "2027-10-31 02:30:00 (+02:00) Europe/Berlin",
        ),
        (
            {"schedule": {"timezone": "Europe/Berlin"}},
            "2027-10-31T01:30:00Z",
            "2027-10-31 02:30:00 (+01:00) Europe/Berlin",
        ),
    ],
)
def test_times_stand_in_the_automations_own_zone(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], wire: str | None, expected: str | None
) -> None:
    """U2, U8: named, whatever the terminal's zone is; one that comes twice with its offset."""
    monkeypatch.setenv("TZ", "America/New_York")
    assert named_time(given, wire) == expected


@pytest.mark.parametrize(
    ("run_", "words"),
    [
        (None, None),
        ({"state": "ran", "count": 1}, "ran"),
        ({"state": "ran", "outcome": "completed", "count": 1}, "completed"),
        ({"state": "skipped", "reason": "overlap", "count": 1}, "skipped (overlap)"),
        ({"state": "missed", "reason": "outage", "count": 12}, "missed (outage) x12"),
    ],
)
def test_firings_in_words(run_: dict[str, Any] | None, words: str | None) -> None:
    """U8: what became of a time, with its reason and how many it stands for."""
    assert run_words(run_) == words
