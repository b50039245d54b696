"""`steward audit list|verify` (O4, A14)."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from host.cli.main import app
from store import audit, schema
from store.audit import Decision
from store.database import Database, Scope
from tests.cli.conftest import Ended
from tests.page.stand_in import Refusal, serve
from tests.page.stand_in_audit import AuditStandIn

STATE = "home/user-spaces/local/personal/state"
Run = Callable[..., Coroutine[Any, Any, Ended]]


@pytest.fixture
def run(tmp_path: Path, free_port: Callable[[], int]) -> Run:
    """Runs a command beside the test's own loop."""
    port = free_port()

    async def invoke(*arguments: str, stand_in: AuditStandIn | None = None) -> Ended:
        state = tmp_path / STATE
        state.mkdir(parents=True, exist_ok=True)
        environment = {
            "STEWARD_HOME": str(tmp_path / "home"), "STEWARD_PORT": str(port), "XDG_CONFIG_HOME": str(tmp_path / "none")
        }  # fmt: skip
        call = asyncio.to_thread(CliRunner().invoke, app, arguments, env=environment)
        if stand_in is None:
            ended = await call
        else:
            (state / "owner.token").write_text("x" * 40)
            async with serve(stand_in, port):
                ended = await call
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return invoke


@pytest.fixture
def stand_in() -> AuditStandIn:
    """A host with decisions."""
    made = AuditStandIn()
    made.add_decision("effect.gate", "deny", "effect_1", code="policy_denied")
    made.add_decision("approval", "allow", "approval_1\x1b[31m")
    made.add_decision("effect.start", "allow", "effect_2")
    return made


async def test_decisions_are_listed(stand_in: AuditStandIn, run: Run) -> None:
    """A14: newest first, also without naming `list`; what would move a terminal's cursor is spelled out."""
    shown = await run("audit", stand_in=stand_in)
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert [line.split()[0] for line in lines] == ["no", "3", "2", "1"]
    assert "policy_denied" in lines[3]
    assert "\x1b" not in shown.out


async def test_decisions_are_filtered_and_paged(stand_in: AuditStandIn, run: Run) -> None:
    """A14: the filters are the host's; a time without a zone is this machine's."""
    page = (await run("audit", "list", "--kind", "effect", "--limit", "1", "--json", stand_in=stand_in)).json()
    assert [item["subject_id"] for item in page["items"]] == ["effect_2"]
    arguments = ("audit", "list", "--kind", "effect", "--cursor", page["next_cursor"], "--json")
    rest = (await run(*arguments, stand_in=stand_in)).json()
    assert [item["subject_id"] for item in rest["items"]] == ["effect_1"]
    assert (await run("audit", "list", "--since", "2999-01-01", stand_in=stand_in)).out.strip() == "No decisions."
    assert stand_in.calls_of("agents.audit.list")[-1]["params"]["since"].startswith("2999-01-01T00:00:00")
    assert (await run("audit", "list", "--since", "2000-01-01T00:00:00Z", stand_in=stand_in)).code == 0
    assert (await run("audit", "list", "--since", "yesterday")).code == 2
    stand_in.refusals["agents.audit.list"] = Refusal("invalid_params", "kind: wrong")
    assert (await run("audit", "list", "--kind", "x", stand_in=stand_in)).error()[0] == "invalid_params"


async def chain(tmp_path: Path, *damage: str) -> None:
    """A control plane with five decisions, and what was done to them."""
    (tmp_path / STATE).mkdir(parents=True, exist_ok=True)
    database = Database(f"sqlite+aiosqlite:///{tmp_path / STATE / 'steward.sqlite'}")
    await schema.prepare(database)
    async with database.write(Scope("local", "personal")) as tx:
        await audit.record_all(tx, [Decision("gate", f"effect_{at}", "allow", "owner") for at in range(5)])
        for statement in damage:
            await tx.session.execute(text(statement))
    await database.close()


async def test_a_whole_chain_holds(tmp_path: Path, run: Run) -> None:
    """A14, O4: exit 0, with how long it is and how it ends; no host has to run."""
    await chain(tmp_path)
    shown = await run("audit", "verify")
    assert (shown.code, shown.err) == (0, "")
    assert "The audit chain holds: 5 rows" in shown.out
    found = (await run("audit", "verify", "--json")).json()
    assert found == {"holds": True, "rows": 5, "hash": found["hash"], "broken_at": None, "problem": None}
    assert found["hash"] in shown.out


BROKEN = {
    "UPDATE audit SET verdict = 'deny' WHERE sequence = 3": (3, "changed", "row 3 is not as it was written"),
    "DELETE FROM audit WHERE sequence = 2": (2, "missing", "row 2 is missing"),
    "DELETE FROM audit WHERE sequence > 3": (4, "cut_off", "row 4 and what followed it were cut off"),
    "UPDATE audit_heads SET sequence = 4": (4, "changed", "row 4 is not as it was written"),
    "DELETE FROM audit_heads": (1, "not_in_head", "row 1 and what follows it"),
}


@pytest.mark.parametrize("damage", BROKEN)
async def test_the_first_broken_place_is_said(tmp_path: Path, run: Run, damage: str) -> None:
    """A14, O4: exit 1, in words and as JSON."""
    await chain(tmp_path, damage)
    at, problem, words = BROKEN[damage]
    shown = await run("audit", "verify")
    assert shown.code == 1
    assert words in shown.out
    found = await run("audit", "verify", "--json")
    assert (found.code, found.json()["holds"]) == (1, False)
    assert (found.json()["broken_at"], found.json()["problem"]) == (at, problem)


async def test_without_a_database_nothing_is_claimed(tmp_path: Path, run: Run) -> None:
    """O4: exit 3; asking makes no database."""
    missing = await run("audit", "verify")
    assert (missing.code, missing.error()[0]) == (3, "not_reachable")
    database = tmp_path / STATE / "steward.sqlite"
    assert not await asyncio.to_thread(database.exists)
    await asyncio.to_thread(database.write_bytes, b"x" * 5000)
    assert (await run("audit", "verify")).code == 3
