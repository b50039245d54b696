"""Every history ever committed replays on the present code, in production's runner and in the sandbox (I10, O12)."""

import base64
import binascii
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from runtime.assembly import WORKFLOWS
from runtime.data_converter import DATA_CONVERTER
from tests.replay.history_files import FOLDER, KNOWN_BAD, load, name_of, paths, texts
from tests.replay.record import SCENARIOS
from tests.replay.scenario import MARKER

HISTORIES = paths()
RUNNERS = {"unsandboxed": UnsandboxedWorkflowRunner, "sandboxed": SandboxedWorkflowRunner}

HOW_TO_GO_ON = (
    "A committed history does not replay: workflows that run now would be stuck after an upgrade. Put the change "
    "behind workflow.patched('what-changes') and keep the old branch, then record the new one: "
    "python -m tests.replay.record --label what-changes. Committed histories are not recorded again."
)
SMALL_BYTES = 64 * 1024


@pytest.fixture(params=list(RUNNERS))
def replayer(request: pytest.FixtureRequest) -> Replayer:
    """A replayer with production's converter, and with each of the two runners."""
    runner: WorkflowRunner = RUNNERS[request.param]()
    return Replayer(workflows=list(WORKFLOWS), workflow_runner=runner, data_converter=DATA_CONVERTER)


@pytest.mark.parametrize("path", HISTORIES, ids=name_of)
async def test_a_committed_history_replays(path: Path, replayer: Replayer) -> None:
    """I10, O12: the code makes the same commands as when the history was written."""
    result = await replayer.replay_workflow(load(path), raise_on_replay_failure=False)
    assert result.replay_failure is None, f"{HOW_TO_GO_ON}\n{result.replay_failure!r}"


@pytest.mark.parametrize("path", paths(KNOWN_BAD), ids=name_of)
async def test_a_known_bad_history_is_found(path: Path, replayer: Replayer) -> None:
    """I10: the replay sees a history that the code has not made; else all other results would mean nothing."""
    result = await replayer.replay_workflow(load(path), raise_on_replay_failure=False)
    assert isinstance(result.replay_failure, NondeterminismError)


def test_there_is_a_known_bad_history() -> None:
    """I10: the test above ran."""
    assert paths(KNOWN_BAD)


def test_every_workflow_has_histories() -> None:
    """I10: a workflow without a committed history may change unseen."""
    expected = {workflow.__name__.removesuffix("Workflow").lower() for workflow in WORKFLOWS}
    assert {path.parent.name for path in HISTORIES} == expected


def test_every_scenario_can_be_recorded_by_name() -> None:
    """The titles that the recorder takes are different."""
    places = [(scenario.play.__module__, scenario.title) for scenario in SCENARIOS]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("path", HISTORIES, ids=name_of)
def test_a_committed_history_is_small_and_private(path: Path) -> None:
    """I9, T18: ids, states, codes and counts only; no words, paths or machine names, and no large payload."""
    assert path.stat().st_size < SMALL_BYTES
    said = _said(path)
    assert not [text for text in said if MARKER in text]
    assert not [text for text in said if "File " in text or "Traceback" in text], "a stack trace names paths"


def _said(path: Path) -> Sequence[str]:
    """All strings of a history, payloads decoded."""
    found = list(texts(json.loads(path.read_text(encoding="utf-8"))))
    return found + [decoded for text in found if (decoded := _decoded(text)) is not None]


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def test_histories_are_where_they_are_looked_for() -> None:
    """I10: one folder per workflow, directly below histories/."""
    assert all(path.parent.parent == FOLDER for path in HISTORIES)
