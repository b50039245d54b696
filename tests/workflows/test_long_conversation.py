"""A conversation lives longer than any history (C1, T18): it continues as new under a flood of sends and stops."""

import asyncio

import pytest
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from benchmarks.history_cost import runs_of
from contracts import options
from contracts.names import conversation_workflow
from runtime.data_converter import DATA_CONVERTER
from store.tables_host import ReceiptRow
from store.turn_stops import stop_turn
from store.turns import turn_row
from tests.conftest import Eventually
from tests.workflows.rig import Rig
from workflows.conversation import ConversationWorkflow

TURNS = 36
MOST_EVENTS = 70
"""A turn costs the conversation some ten events, so that it continues as new several times."""
ONE_TURNS_EVENTS = 60
"""What a run may grow by behind its bound: it continues as new only between turns, and a flood is many signals."""


@pytest.mark.timeout(240)
async def test_a_flood_is_answered_in_order_over_several_runs(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    """C1, C2, C3, S8, T18: nothing lost, doubled or out of order; every run stays small and replays (I10)."""
    monkeypatch.setattr(options, "EVENTS_BEFORE_NEW_RUN", MOST_EVENTS)
    receipts = [await rig.send(f"[[say:reply {number}]]") for number in range(TURNS // 2)]
    stopping = asyncio.create_task(_stop_every_tenth(rig, receipts))
    receipts += [await rig.send(f"[[say:reply {number}]]") for number in range(TURNS // 2, TURNS)]
    await stopping
    turns = [receipt.turn_id or "" for receipt in receipts]

    async def at_rest() -> bool:
        return await _state(rig, turns[-1]) in ("completed", "stopped")

    await eventually(at_rest, "the last turn has ended", within_s=180)
    states = [await _state(rig, turn_id) for turn_id in turns]
    said = [(m["turn_id"], m["text"]) for m in await rig.messages() if m["role"] == "assistant"]
    completed = [place for place, state in enumerate(states) if state == "completed"]
    assert set(states) <= {"completed", "stopped"}
    assert len(completed) >= TURNS - TURNS // 10 - 1
    whole = [(turns[place], f"reply {place}") for place in completed]
    assert [reply for reply in said if reply in whole] == whole
    assert len(said) == len({turn_id for turn_id, _text in said})
    await _runs_are_small_and_replay(rig)


async def _stop_every_tenth(rig: Rig, receipts: list[ReceiptRow]) -> None:
    """Stop some turns: those that run then are cut, those that wait are not touched (S8)."""
    for receipt in receipts[::10]:
        async with rig.parts.database.write(rig.scope) as tx:
            await stop_turn(tx, rig.session_id, receipt.turn_id or "", f"stop-{receipt.turn_id}", "owner")
        rig.pulse.ring()
        await asyncio.sleep(0)


async def _state(rig: Rig, turn_id: str) -> str:
    async with rig.parts.database.read(rig.scope) as tx:
        return (await turn_row(tx, turn_id)).state


async def _runs_are_small_and_replay(rig: Rig) -> None:
    histories = await runs_of(rig.client, conversation_workflow(rig.scope.user_space, rig.scope.domain))
    assert len(histories) >= 3
    assert max(len(history.events) for history in histories) <= MOST_EVENTS + ONE_TURNS_EVENTS
    replayer = Replayer(
        workflows=[ConversationWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=DATA_CONVERTER,
    )
    for history in histories:
        await replayer.replay_workflow(history)
