"""Effects from the command line, against the scripted stand-in of the host (E13, E20, O4)."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.cli.conftest import Ended
from tests.cli.test_control_commands import environment as environment
from tests.cli.test_control_commands import run as run
from tests.cli.test_control_commands import stand_in as stand_in
from tests.page.stand_in import StandIn
from tests.page.test_page_work import effect

pytestmark = pytest.mark.timeout(120)
Run = Callable[..., Coroutine[Any, Any, Ended]]


async def test_effects_are_listed_shown_and_settled(stand_in: StandIn, run: Run) -> None:
    """E13, E20, O4: the list says why, an effect shows its whole trail, an unknown one is settled and not repeated."""
    refused = {**effect("effect_1", "refused"), "reason": "approval_expired"}
    stand_in.effects = [effect("effect_2", "unknown"), refused]
    listed = await run("effects")
    assert "refused (approval_expired)" in listed.out
    unknown = await run("effects", "list", "--state", "unknown", "--json")
    assert [row["effect_id"] for row in unknown.json()["items"]] == ["effect_2"]
    shown = await run("effects", "show", "effect_2")
    assert [line.split()[0] for line in shown.out.splitlines()[-4:]] == ["proposal", "policy", "decision", "outcome"]
    settled = await run("effects", "settle", "effect_2", "succeeded", "--note", "The file is there")
    assert settled.out == "effect_2 is succeeded, by your word.\n"
    sent = stand_in.calls_of("agents.effects.settle")[0]
    assert sent["params"] == {"effect_id": "effect_2", "outcome": "succeeded", "note": "The file is there"}
    assert sent["request_id"]
    assert (await run("effects", "list", "--state", "unknown")).out == "No effects.\n"


async def test_what_is_no_effect_or_outcome(stand_in: StandIn, run: Run) -> None:
    """O4: an unknown id is one line with its code, an outcome that nobody can find is a usage error."""
    missing = await run("effects", "show", "effect_9")
    assert (missing.code, missing.error()[0]) == (1, "not_found")
    assert (await run("effects", "settle", "effect_9", "retried")).code == 2
    assert stand_in.calls_of("agents.effects.settle") == []
