"""`steward state migrate-personal-review` as a person or a script calls it (O4, E19)."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.cli.main import app
from tests.cli.conftest import Ended, Steward
from tests.legacy_files import COUNTS, FILE_NAME, build_with_wal

PERSONAL = ("--composition-profile", "personal")
MIGRATE = ("state", "migrate-personal-review")


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """A home with a ledger of an earlier version."""
    state = tmp_path / "home/user-spaces/local/personal/state"
    state.mkdir(parents=True)
    build_with_wal(state)
    return {"STEWARD_HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "none")}


@pytest.fixture
def run(environment: Mapping[str, str]) -> Callable[..., Ended]:
    """Runs a command in this process."""

    def invoke(*arguments: str, **more: str) -> Ended:
        ended = CliRunner().invoke(app, arguments, env={**environment, **more})
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return invoke


def test_inspect_apply_and_ask_again(run: Callable[..., Ended]) -> None:
    """O4, E19: the way an operator goes, with the JSON that each step prints."""
    looked = run(*MIGRATE, "--user-space", "local", *PERSONAL)
    assert (looked.code, looked.err) == (0, "")
    found = looked.json()
    assert (found["status"], found["counts"], found["marker"]) == ("migration-required", COUNTS, None)
    assert run(*MIGRATE, "--user-space", "local", *PERSONAL, "--dry-run").json() == found
    digest = ("--apply", "--expect-source-digest", found["source_digest"])
    done = run(*MIGRATE, "--user-space", "local", *PERSONAL, *digest)
    assert (done.code, done.json()["status"], done.json()["counts"]) == (0, "migrated", COUNTS)
    again = run(*MIGRATE, "--user-space", "local", *PERSONAL, *digest)
    assert (again.code, again.json()) == (0, {**done.json(), "status": "already-migrated"})
    assert run(*MIGRATE, *PERSONAL).json() == again.json()


def test_the_profile_may_stand_in_the_configuration(run: Callable[..., Ended], tmp_path: Path) -> None:
    """E19: without --composition-profile the one of the file or environment counts, and without either none."""
    refused = run(*MIGRATE, "--user-space", "local")
    assert (refused.code, refused.error()[0]) == (1, "service_not_available")
    config = tmp_path / "config.toml"
    config.write_text('composition_profile = "personal"\n')
    assert run(*MIGRATE, "--user-space", "local", "--config", str(config)).json()["counts"] == COUNTS
    assert run(*MIGRATE, STEWARD_COMPOSITION_PROFILE="personal").json()["counts"] == COUNTS


def test_a_wrong_digest_is_one_line(run: Callable[..., Ended]) -> None:
    """O4, E19: exit 1 and `code: message`, as an object with --json."""
    wrong = ("--apply", "--expect-source-digest", "0" * 64)
    refused = run(*MIGRATE, *PERSONAL, *wrong)
    assert (refused.code, refused.out, refused.error()[0]) == (1, "", "precondition_changed")
    told = json.loads(run(*MIGRATE, *PERSONAL, *wrong, "--json").err)
    assert (told["code"], told["reason"]) == ("precondition_changed", "source_changed")
    assert told["source_digest"] == run(*MIGRATE, *PERSONAL).json()["source_digest"]


@pytest.mark.parametrize(
    "options",
    [
        ("--apply",),
        ("--expect-source-digest", "0" * 64),
        ("--dry-run", "--expect-source-digest", "0" * 64),
        ("--apply", "--dry-run", "--expect-source-digest", "0" * 64),
        ("--force",),
    ],
)
def test_contradictions_are_usage_errors(run: Callable[..., Ended], options: tuple[str, ...]) -> None:
    """O4, E19: exit 2; there is no force."""
    assert run(*MIGRATE, *PERSONAL, *options).code == 2


def test_a_space_without_a_ledger(run: Callable[..., Ended], environment: Mapping[str, str]) -> None:
    """O4: it is said, and no folder is made for it."""
    refused = run(*MIGRATE, "--user-space", "nobody", *PERSONAL)
    assert (refused.code, refused.error()[0]) == (1, "not_found")
    assert not (Path(environment["STEWARD_HOME"]) / "user-spaces/nobody").exists()


@pytest.mark.parametrize("command", ["host", "up"])
@pytest.mark.timeout(300)
async def test_a_start_with_a_ledger_is_a_start_up_error(instance: Callable[[], Steward], command: str) -> None:
    """O4, E19: exit 1 and one line on stderr, of the host alone and of everything together."""
    steward = instance()
    state = steward.home / "user-spaces/local/personal/state"
    state.mkdir(parents=True)
    before = build_with_wal(state).read_bytes()
    ended = await steward.run(command, *PERSONAL, "--log-format", "json")
    # The embedded server writes lines of its own when it is ended while it starts.
    lines = [line for line in ended.err.splitlines() if not _is_json(line) and not line.startswith("time=")]
    assert (ended.code, len(lines)) == (1, 1), ended.err
    assert lines[0].startswith("personal_review_legacy_migration_required: ")
    assert (state / FILE_NAME).read_bytes() == before
    if command == "host":
        assert len(ended.err.splitlines()) == 1


def _is_json(line: str) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(line), dict)
    return False


@pytest.mark.timeout(300)
async def test_a_running_host_bars_the_migration(steward: Steward) -> None:
    """E19, H4: the lock is the running host's."""
    refused = await steward.run(*MIGRATE, *PERSONAL)
    assert (refused.code, refused.error()[0]) == (1, "host_locked")
    assert not await asyncio.to_thread(lambda: list(steward.home.rglob(FILE_NAME)))
