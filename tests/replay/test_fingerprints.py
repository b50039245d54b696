"""A change of a workflow's commands is seen before it is merged, also where no committed history takes that branch."""

import json

import pytest

from tests.replay.fingerprints import COMMITTED, commands, fingerprints

HOW_TO_GO_ON = """
The commands of a workflow changed. Workflows that run now have histories made by the old order; on the new code their
next task fails, and they are stuck until the old code comes back.

1. If the order of commands is only refactored (the same calls in the same order, from another function), go to 3.
2. Otherwise keep both orders:
       if workflow.patched("what-changes"):
           ...the new commands...
       else:
           ...the old commands, untouched...
   Record what the new branch does: python -m tests.replay.record --label what-changes
   The old branch goes when no workflow that took it can still be running: deprecate_patch first, later nothing.
   Without a patch only this may change: what a workflow that has not been released yet does; time-outs, retries,
   summaries and inputs of activities; log lines; details. A time-out of wait_condition that comes or goes is a
   command.
3. Run python -m pytest tests/replay, and then python -m tests.replay.fingerprints, and commit the new file with the
   change: it says to the reviewer that commands moved.
"""


def test_the_commands_of_every_workflow_are_those_that_were_committed() -> None:
    """I10, O12: ordered commands per source, against a committed file."""
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    present = fingerprints()
    changed = [path for path in {**committed, **present} if committed.get(path) != present.get(path)]
    assert not changed, f"{', '.join(changed)}\n{HOW_TO_GO_ON}\n{_difference(committed, present, changed)}"


def _difference(committed: dict[str, list[str]], present: dict[str, list[str]], changed: list[str]) -> str:
    lines = []
    for path in changed:
        old, new = committed.get(path, []), present.get(path, [])
        lines += [f"{path}:", *(f"  - {line}" for line in old if line not in new)]
        lines += [f"  + {line}" for line in new if line not in old] or ["  (only the order changed)"]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("await shared(A.one, x, summary='a')", "await shared(A.two, x, summary='a')"),
        ("await workflow.wait_condition(done)", "await workflow.wait_condition(done, timeout=patience)"),
        ("await shared(A.one, x)\n  await shared(A.two, x)", "await shared(A.two, x)\n  await shared(A.one, x)"),
        ("await start(turn_start(x))", "await start(task_start(x))"),
        ("await tell(x, 'stop')", "if late:\n   await tell(x, 'stop')"),
        ("await handle.signal(name)", "pass"),
        ("workflow.upsert_search_attributes([x])", "pass"),
        ("pass", "workflow.uuid4()"),
    ],
)
def test_a_change_of_commands_changes_the_fingerprint(before: str, after: str) -> None:
    """O12: another activity, a timer, another order, another child, a condition, a signal less."""
    assert _commands(before) != _commands(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("await shared(A.one, x, summary='a')", "await shared(A.one, y, summary='b')"),
        ("workflow.set_current_details('a')", "workflow.set_current_details('b')"),
        ("workflow.logger.info('a')", "pass"),
        ("await start(turn_start(x))", "await start(turn_start(y))"),
    ],
)
def test_a_change_of_words_does_not(before: str, after: str) -> None:
    """O12: what no history holds is free to change."""
    assert _commands(before) == _commands(after)


def _commands(body: str) -> list[str]:
    return commands(f"async def run():\n  {body}\n")
