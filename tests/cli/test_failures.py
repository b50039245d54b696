"""How commands fail: exit codes, one line, an object with --json; and start-up errors (O3, O4, O22, H3)."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.exit_codes import CONFIGURATION, SUPERVISED
from tests.cli.conftest import Steward

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def absent(instance: Callable[[], Steward]) -> Steward:
    """An instance that nobody started."""
    return instance()


@pytest.mark.parametrize(
    "arguments", [("tasks",), ("approvals",), ("send", "x"), ("chat",), ("auth", "link")], ids=" ".join
)
async def test_nobody_there(absent: Steward, arguments: tuple[str, ...]) -> None:
    """O4: exit code 3 and one line when no host can be reached; nothing is written."""
    failed = await absent.run(*arguments)
    assert (failed.code, failed.error()[0], failed.out) == (3, "not_reachable", "")
    assert "steward up" in failed.err
    assert not absent.home.exists()


async def test_nobody_listens(absent: Steward) -> None:
    """O4: the same where a credential exists but no host runs; with --json an object."""
    state = absent.home / "user-spaces/local/personal/state"
    state.mkdir(parents=True)
    (state / "owner.token").write_text("x" * 40)
    failed = await absent.run("tasks", "--json")
    assert failed.code == 3
    assert json.loads(failed.err)["code"] == "not_reachable"
    attached = await absent.run("send", "x", "--attach", str(state / "owner.token"))
    assert (attached.code, attached.error()[0]) == (3, "not_reachable")


@pytest.mark.parametrize(
    "arguments", [("send",), ("tasks", "list", "--limit", "0"), ("tasks", "list", "--state", "odd"), ("odd",)]
)
async def test_usage(absent: Steward, arguments: tuple[str, ...]) -> None:
    """O4: a wrong use is exit code 2."""
    assert (await absent.run(*arguments)).code == 2


@pytest.mark.parametrize("process", ["up", "host", "worker"])
async def test_a_wrong_setting(absent: Steward, process: str) -> None:
    """O3, O4: a start-up error is exit code 1 and one line with the setting's name, before anything is written."""
    failed = await absent.run(process, "--model", "no model")
    assert failed.code == 1
    assert failed.error()[0] == "invalid_params"
    assert "STEWARD_MODEL" in failed.err
    assert not absent.home.exists()


async def test_a_provider_that_does_not_exist(absent: Steward) -> None:
    """O3: a model that cannot be built stops `steward host` with one line that names the setting."""
    failed = await absent.run("host", "--model", "odd-provider:name", "--json")
    assert failed.code == 1
    told = json.loads(failed.err)
    assert (told["code"], told["setting"]) == ("invalid_params", "STEWARD_MODEL")


async def test_the_supervisor_is_told_that_no_restart_helps(absent: Steward) -> None:
    """O22: under the supervisor a start-up error has its own exit code."""
    failed = await absent.run("host", "--home", "relative", **{SUPERVISED: "1"})
    assert failed.code == CONFIGURATION
    assert failed.error()[0] == "invalid_params"


async def test_verified_isolation_needs_a_verifier(absent: Steward) -> None:
    """H3: refused before any private state is created."""
    failed = await absent.run("up", "--isolation-mode", "verified_host")
    assert (failed.code, failed.error()[0]) == (1, "user_host_isolation_required")
    assert not absent.home.exists()


async def test_doctor_of_nothing(absent: Steward) -> None:
    """O5: it says what is missing and how to mend it, creates nothing, and fails."""
    looked = await absent.run("doctor")
    assert looked.code == 1
    assert looked.err == ""
    assert "FAILED   Temporal" in looked.out
    assert "steward up" in looked.out
    report = (await absent.run("doctor", "--json", "--model", "odd-provider:name")).json()
    found = {check["check"]: check for check in report["checks"]}
    assert report["ok"] is False
    assert found["model"]["state"] == "failed"
    assert "STEWARD_MODEL" in found["model"]["found"]
    assert not absent.home.exists()


async def test_help_loads_nothing_heavy(absent: Steward) -> None:
    """O4: the help answers without loading frameworks."""
    shown = await absent.run("--help", PYTHONPROFILEIMPORTTIME="1")
    assert shown.code == 0
    loaded = {line.rpartition("|")[2].strip() for line in shown.err.splitlines() if line.startswith("import time:")}
    assert "typer" in loaded
    assert not loaded & {"pydantic", "sqlalchemy", "temporalio", "fastapi", "pydantic_ai", "websockets", "httpx"}


async def test_version(absent: Steward) -> None:
    """O4: the program says what it is."""
    assert (await absent.run("--version")).out.startswith("steward ")


async def test_logs_never_mix_with_a_commands_answer() -> None:
    """O4, O11: stdout is for the answer alone; a warning goes to stderr, what is less is not shown."""
    logs = "import structlog; log = structlog.get_logger(); log.debug('low'); log.info('low'); log.warning('high')"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"from host.cli.main import _steward; _steward(); {logs}",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    out, err = await process.communicate()
    assert (process.returncode, out) == (0, b"")
    assert b"high" in err
    assert b"low" not in err
