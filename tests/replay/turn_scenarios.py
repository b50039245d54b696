"""Scenarios of the conversation and its turns: replies, tools, failures, cards in time and too late, stops (C1, S8)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from ulid import ULID

from contracts.names import conversation_workflow, effect_workflow, turn_workflow
from runtime.temporal_binary import SERVER_FLAGS
from store.turn_stops import stop_turn
from tests.replay.scenario import MARKER, Recorded, Scenario, say, tool, write
from tests.workflows import rig as rig_module
from tests.workflows.rig import Rig


def _conversation(rig: Rig) -> str:
    return conversation_workflow(rig.scope.user_space, rig.scope.domain)


async def _reply(rig: Rig, text: str) -> str:
    """Send an input, wait for its reply, return the turn's workflow."""
    receipt = await rig.send(f"{MARKER} {text}")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    return turn_workflow(receipt.turn_id or "")


async def _stop(rig: Rig, turn_id: str) -> None:
    async with rig.parts.database.write(rig.scope) as tx:
        await stop_turn(tx, rig.session_id, turn_id, f"test:{ULID()}", "owner")
    rig.pulse.ring()


async def plain_replies(rig: Rig) -> Sequence[Recorded]:
    """Three inputs, each after the conversation has become idle."""
    turns = [await _reply(rig, say(f"answer {number}")) for number in range(3)]
    return [Recorded("turn/plain_reply", turns[0]), Recorded("conversation/several_turns", _conversation(rig))]


async def queued_inputs(rig: Rig) -> Sequence[Recorded]:
    """Three inputs at once: two of them wait while the first one runs."""
    receipts = [await rig.send(f"{MARKER} [[delay:20]]{say('slow answer')}") for _ in range(3)]
    await rig.until_message(role="assistant", turn_id=receipts[-1].turn_id)
    return [Recorded("conversation/queued_turns", _conversation(rig))]


async def tool_calls(rig: Rig) -> Sequence[Recorded]:
    """SQL tools, file tools, an unknown tool and broken arguments, over three model steps."""
    first = tool("list_tasks") + tool("list_files", path=".") + tool("no_such_tool", a=MARKER)
    second = tool("read_file", path=f"{MARKER}.txt") + tool("list_tasks", state=7)
    turn = await _reply(rig, f"{say('looking')}{first}[[then]]{second}[[then]]{say('done')}")
    return [Recorded("turn/tool_calls", turn)]


async def failed_model(rig: Rig) -> Sequence[Recorded]:
    """The provider refuses for good; the next turn works."""
    failed = await _reply(rig, f"[[error:400 {MARKER}]]")
    await _reply(rig, say("fine again"))
    return [Recorded("turn/failed_model", failed)]


async def effect_allowed(rig: Rig) -> Sequence[Recorded]:
    """The card is decided while the turn waits."""
    receipt = await rig.send(f"{MARKER} {write()}[[then]]{say('written')}")
    card = await rig.card(turn_id=receipt.turn_id)
    await rig.decide(card, "allow_once")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    return [
        Recorded("turn/effect_allowed", turn_workflow(receipt.turn_id or "")),
        Recorded("effect/succeeded_in_turn", effect_workflow(card["effect_id"])),
    ]


async def effect_denied(rig: Rig) -> Sequence[Recorded]:
    """The card is denied while the turn waits."""
    receipt = await rig.send(f"{MARKER} {write()}[[then]]{say('then not')}")
    await rig.decide(await rig.card(turn_id=receipt.turn_id), "deny")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    return [Recorded("turn/effect_denied", turn_workflow(receipt.turn_id or ""))]


async def parked_for_others(rig: Rig) -> Sequence[Recorded]:
    """Something is queued behind the card: the turn lets go, and its continuation brings the outcome."""
    first = await rig.send(f"{MARKER} {write()}[[then]]{say('written')}")
    card = await rig.card(turn_id=first.turn_id)
    await _reply(rig, say("something else"))
    await rig.decide(card, "allow_once")
    continued = await rig.until_message(role="assistant", text=f"{MARKER} written")
    return [
        Recorded("turn/parked_for_others", turn_workflow(first.turn_id or "")),
        Recorded("turn/continuation", turn_workflow(continued["turn_id"])),
        Recorded("conversation/others_wait", _conversation(rig)),
        Recorded("effect/succeeded_after_parking", effect_workflow(card["effect_id"])),
    ]


async def parked_in_time(rig: Rig) -> Sequence[Recorded]:
    """Nobody decides for as long as a turn may wait."""
    first = await rig.send(f"{MARKER} {write()}[[then]]{say('then not')}")
    parked = await rig.until_message(role="assistant", turn_id=first.turn_id)
    await rig.decide(await rig.card(approval_id=parked["card"]), "deny")
    await rig.until_message(role="assistant", text=f"{MARKER} then not")
    return [Recorded("turn/parked_in_time", turn_workflow(first.turn_id or ""))]


async def stopped_at_a_card(rig: Rig) -> Sequence[Recorded]:
    """A stop withdraws the card; the effect never starts."""
    receipt = await rig.send(f"{MARKER} {say('let me')}{write()}")
    card = await rig.card(turn_id=receipt.turn_id)
    await _stop(rig, receipt.turn_id or "")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id, interrupted=True)
    return [
        Recorded("turn/stopped_at_a_card", turn_workflow(receipt.turn_id or "")),
        Recorded("effect/withdrawn", effect_workflow(card["effect_id"])),
    ]


async def stopped_while_it_speaks(rig: Rig) -> Sequence[Recorded]:
    """A stop comes between the question and the model's answer."""
    receipt = await rig.send(f"{MARKER} [[delay:50]]{say('one two three four five six seven eight nine ten')}")
    while not rig.streamed:
        await rig.tasks()
    await _stop(rig, receipt.turn_id or "")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id, interrupted=True)
    return [Recorded("turn/stopped_while_it_speaks", turn_workflow(receipt.turn_id or ""))]


async def continued_as_new(rig: Rig) -> Sequence[Recorded]:
    """The server suggests it early: the conversation and a turn of many steps continue as new, losing nothing."""
    many = "[[then]]".join(tool("list_files", path=".") for _ in range(8))
    turn = await _reply(rig, f"{many}[[then]]{say('done')}")
    for number in range(4):
        await _reply(rig, say(f"answer {number}"))
    return [
        Recorded("conversation/continued_as_new", _conversation(rig), first_run=True),
        Recorded("conversation/after_continue_as_new", _conversation(rig)),
        Recorded("turn/continued_as_new", turn, first_run=True),
        Recorded("turn/after_continue_as_new", turn),
    ]


def early_suggestion() -> AbstractContextManager[Any]:
    """A server that suggests to continue as new after a few events."""
    flag = "--dynamic-config-value=limit.historyCount.suggestContinueAsNew=30"
    return patch.object(rig_module, "SERVER_FLAGS", (*SERVER_FLAGS, flag))


SCENARIOS = (
    Scenario(plain_replies),
    Scenario(queued_inputs),
    Scenario(tool_calls),
    Scenario(failed_model),
    Scenario(effect_allowed),
    Scenario(effect_denied),
    Scenario(parked_for_others),
    Scenario(parked_in_time, {"card_park_s": 0.3}),
    Scenario(stopped_at_a_card),
    Scenario(stopped_while_it_speaks),
    Scenario(continued_as_new, around=early_suggestion),
)
