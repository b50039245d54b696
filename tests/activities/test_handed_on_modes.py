"""What a run hands on it hands on in no wider permission mode than its own (E3, A3, A15)."""

from pathlib import Path

import pytest

from contracts.run import RunPoint
from domain.grant import PERMISSIONS
from domain.refusal import Refusal
from domain.run import RunRef
from domain.tool_policy import mode_handed_on
from store.tables_work import TaskRow
from tests.activities.test_tool_calls import Tools, code
from tests.control_plane import Plane


@pytest.fixture
def tools(plane: Plane, tmp_path: Path) -> Tools:
    """The tools of a new user space."""
    return Tools(plane, tmp_path)


async def _run(tools: Tools, kind: str, mode: str) -> RunRef:
    return await (tools.plane.turn if kind == "turn" else tools.plane.attempt)("work", permission_mode=mode)


async def _modes(tools: Tools) -> dict[str, str]:
    return {row.title: row.permission_mode for row in await tools.plane.rows(TaskRow)}


@pytest.mark.parametrize("kind", ["turn", "attempt"])
@pytest.mark.parametrize(("own", "wanted", "got"), [
    ("read_only", None, "read_only"), ("read_only", "read_only", "read_only"),
    ("standard", None, "standard"), ("standard", "read_only", "read_only"), ("standard", "standard", "standard"),
])  # fmt: skip
async def test_work_is_handed_on_in_the_same_mode_or_a_narrower_one(
    tools: Tools, kind: str, own: str, wanted: str | None, got: str
) -> None:
    """E3, A15: whoever asks for nothing hands on their own mode."""
    given = {"title": "handed on", "instructions": "i", **({} if wanted is None else {"permission_mode": wanted})}
    run = await _run(tools, kind, own)
    await tools.plane.step(run, "", ("delegate_task", given))
    await tools.carry_out(RunPoint(run=run, step=1))
    assert (await _modes(tools))["handed on"] == got


@pytest.mark.parametrize("kind", ["turn", "attempt"])
async def test_what_is_read_only_has_nothing_changed_by_others(tools: Tools, kind: str) -> None:
    """E3, A15: a task would change what the run that delegates it may not; nothing is made."""
    run = await _run(tools, kind, "read_only")
    before = await _modes(tools)
    given = {"title": "wider", "instructions": "i", "permission_mode": "standard"}
    assert code(await tools.answer(run, "delegate_task", given)) == "policy_denied"
    assert await _modes(tools) == before


async def test_a_read_only_turn_resumes_a_task_as_read_only(tools: Tools) -> None:
    """E3, T11: an ended task would otherwise change for the turn what the turn may not."""
    run = await tools.plane.turn("go on", permission_mode="read_only")
    ended = await tools.plane.attempt("ended")
    await tools.plane.succeed(ended)
    await tools.answer(run, "resume_task", {"task_id": ended.task_id, "instructions": "now change it"})
    assert await _modes(tools) == {"ended": "read_only"}


async def test_a_standard_turn_does_not_widen_what_it_resumes(tools: Tools) -> None:
    """T11: a resumed task keeps its mode."""
    run = await tools.plane.turn("go on")
    ended = await tools.plane.attempt("ended", permission_mode="read_only")
    await tools.plane.succeed(ended)
    await tools.answer(run, "resume_task", {"task_id": ended.task_id})
    assert await _modes(tools) == {"ended": "read_only"}


@pytest.mark.parametrize("own", [*PERMISSIONS, "of_tomorrow", ""])
@pytest.mark.parametrize("wanted", [None, *PERMISSIONS, "of_tomorrow"])
def test_no_mode_is_ever_wider_than_the_own_one(own: str, wanted: str | None) -> None:
    """A3: by the order of modes; from a mode that nobody knows nothing is handed on but itself."""
    handed = mode_handed_on(wanted, own)
    if isinstance(handed, Refusal):
        assert handed.code == "policy_denied"
    elif handed in PERMISSIONS and own in PERMISSIONS:
        assert PERMISSIONS.index(handed) <= PERMISSIONS.index(own)
    else:
        assert handed == (wanted if own in PERMISSIONS else own) or (handed is None and own == "standard")
