"""Permissions and cards from the command line, against the scripted stand-in of the host (O4, A7, A9-A11, E9, E16)."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest

from host.cli.grant_words import lifetime_s, lifetime_words
from tests.cli.conftest import Ended
from tests.cli.test_commands import Dialogue
from tests.cli.test_control_commands import CHAT
from tests.cli.test_control_commands import environment as environment
from tests.cli.test_control_commands import run as run
from tests.cli.test_control_commands import stand_in as stand_in
from tests.page.stand_in import StandIn
from tests.page.stand_in_authority import said
from tests.page.test_page_authority import UNCONFINED

pytestmark = pytest.mark.timeout(120)
Run = Callable[..., Coroutine[Any, Any, Ended]]


async def test_a_task_is_allowed_after_a_look(stand_in: StandIn, run: Run) -> None:
    """A7, A11, O4: issue shows words and bounds and, where nobody can be asked, needs --yes; the list shows both."""
    stand_in.add_request("task_1", **said("Create the file “summary.md”."))
    listed = await run("grants")
    assert listed.out.startswith("No grants.\n")
    assert "task_1  Create the file “summary.md”." in listed.out
    unasked = await run("grants", "issue", "task_1")
    assert (unasked.code, stand_in.calls_of("agents.grants.issue")) == (2, [])
    allowed = await run("grants", "issue", "task_1", "--lifetime", "7d", "--yes")
    assert allowed.code == 0
    assert allowed.out.startswith("Create the file “summary.md”.\n")
    assert "for:     7 days" in allowed.out
    assert "/srv/ana/files/summary.md" in allowed.out
    assert allowed.out.splitlines()[-1].startswith("task_1 is allowed until ")
    sent = stand_in.calls_of("agents.grants.issue")[0]
    assert sent["params"] == {"proposal_id": "proposal_1", "lifetime_s": 7 * 24 * 3600}
    assert sent["request_id"]
    assert "grant_1" in (await run("grants", "list")).out
    assert (await run("grants", "list", "--json")).json()["items"][0]["grant_ref"] == "grant_1"
    assert (await run("grants", "issue", "task_2", "--yes", "--json")).json()["grant_ref"] == "grant_2"


async def test_a_wrong_lifetime_and_a_closed_request(stand_in: StandIn, run: Run) -> None:
    """A7, O4: what is no lifetime is a usage error; a request that is closed meanwhile is one line with its code."""
    assert (await run("grants", "issue", "task_1", "--lifetime", "soon", "--yes")).code == 2
    assert stand_in.proposals == []
    request = stand_in.add_request("task_1")
    stand_in._do_agents_grants_propose = lambda *_: {**request, "proposal_id": "proposal_gone"}  # type: ignore[method-assign]
    late = await run("grants", "issue", "task_1", "--yes")
    assert (late.code, late.error()[0]) == (1, "authorization_requirement_mismatch")
    assert stand_in.grants == []


async def test_a_grant_is_taken_back(stand_in: StandIn, run: Run) -> None:
    """A9, O4: revoke holds at once and keeps the reason; an unknown grant is refused by its code."""
    stand_in.add_grant("task_1")
    revoked = await run("grants", "revoke", "grant_1", "--reason", "done early")
    assert (revoked.code, revoked.out) == (0, "grant_1 is revoked.\n")
    sent = stand_in.calls_of("agents.grants.revoke")[0]["params"]
    assert sent == {"grant_ref": "grant_1", "reason": "done early"}
    assert stand_in.grants[0]["state"] == "revoked"
    unknown = await run("grants", "revoke", "grant_9", "--json")
    assert (unknown.code, json.loads(unknown.err)["code"]) == (1, "not_found")


async def test_a_card_shows_the_whole_command(stand_in: StandIn, run: Run) -> None:
    """E9, E16, O4: the command stands there whole, and a line of its own says that nothing confines it."""
    stand_in.add_approval("approval_1", task_id="task_1", **UNCONFINED)
    stand_in.add_approval("approval_2", task_id="task_1", **{**UNCONFINED, "confined": True})
    listed = (await run("approvals")).out.splitlines()
    assert [line.split()[0] for line in listed if "NOT CONFINED" in line] == ["approval_1"]
    cards = stand_in.approvals
    stand_in._do_agents_approvals_get = lambda params, _: cards[params["approval_id"]]  # type: ignore[method-assign]
    shown = await run("approvals", "show", "approval_1")
    assert "!!! NOT CONFINED !!!" in shown.out.splitlines()
    assert "sh -c 'make ⟦U+202E⟧ test'\n\nfolder: notes\n" in shown.out
    assert "NOT CONFINED" not in (await run("approvals", "show", "approval_2")).out


@pytest.mark.parametrize(
    ("text", "seconds"), [("24h", 86_400), ("90m", 5_400), ("3600", 3_600), ("1D", 86_400), ("60s", 60)]
)
def test_lifetimes_are_read(text: str, seconds: int) -> None:
    """A7: hours, days, minutes and seconds."""
    assert lifetime_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-1h", "1.5h", "1w", "９h", "1 0h", "9" * 20])
def test_what_is_no_lifetime_is_none(text: str) -> None:
    """A7: nothing is guessed."""
    assert lifetime_s(text) is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(86_400, "24 hours"), (604_800, "7 days"), (3_600, "1 hour"), (90, "90 seconds")]
)
def test_lifetimes_are_said(seconds: int, words: str) -> None:
    """A11: in the largest unit that fits; a day is 24 hours."""
    assert lifetime_words(seconds) == words


async def test_a_permission_is_given_in_a_chat(
    stand_in: StandIn, environment: Mapping[str, str], repository: Path
) -> None:
    """A11, O4: a chat asks for a permission in words; only a yes gives it, and Enter puts it off."""
    stand_in.add_request("task_1", **said("Create the file “summary.md”."))
    person = Dialogue()
    chat = await asyncio.create_subprocess_exec(
        *CHAT,
        env={**os.environ, **environment},
        cwd=repository,
        stdin=person.other,
        stdout=person.other,
        stderr=person.other,
    )
    await person.until("Create the file “summary.md”.")
    await person.until("Allow this task? y: yes, Enter: later. ")
    person.type("maybe")
    await person.until("Please answer y, or Enter for later.")
    assert stand_in.grants == []
    person.type("y")
    await person.until("The task is allowed until ")
    stand_in.add_request("task_2", **said("Create the file “other.md”."))
    await stand_in.notify("grants")
    await person.until("Create the file “other.md”.")
    person.type("")
    await person.until("Later: steward grants issue task_2")
    person.type("/quit")
    async with asyncio.timeout(60):
        assert await chat.wait() == 0
    assert [grant["holder"]["task_id"] for grant in stand_in.grants] == ["task_1"]
