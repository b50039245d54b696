"""Changes that the main conversation makes itself (A13): its turn waits for a card, is parked, and is continued (C1).

Whether a turn is parked before its card is decided is a matter of chance in some kinds and certain in others.
"""

import asyncio

from tests.blackbox.rpc_client import Json
from tests.blackbox.scripts import say, steps, tool
from tests.chaos.job import FileChange, Job, OwnWork, Reply
from tests.chaos.jobs import words
from tests.chaos.people import CARD_GONE, decision_of
from tests.chaos.world import World

LOOKS_S = 0.3


async def own_file(world: World, job: Job) -> None:
    """A change that is allowed as soon as its card is seen, before the turn is parked or after."""
    await _begun(world, job, 1)


async def own_files_one_after_the_other(world: World, job: Job) -> None:
    """Two calls in one step: the continuation of the first waits for the card of the second."""
    await _begun(world, job, 2)


async def own_file_while_parked(world: World, job: Job) -> None:
    """A change that is allowed only when its turn is parked for certain."""
    job.card = "leave"
    await _parked(world, await _begun(world, job, 1))
    job.card = "allow"


async def own_file_denied_while_parked(world: World, job: Job) -> None:
    """A change that is denied when its turn is parked: a denial is continued too."""
    job.card = "leave"
    await _parked(world, await _begun(world, job, 1))
    job.card = "deny"


async def own_file_stopped(world: World, job: Job) -> None:
    """A turn that is stopped while its card waits: the card is void from that transaction on (S8)."""
    job.card = "leave"
    receipt = await _begun(world, job, 1)
    assert job.own is not None
    job.own.is_stopped = True
    await world.watch.until(lambda: _card(world, job) is not None, f"{job.tag} has its card")
    card = _card(world, job)
    assert card is not None
    await world.pause(4)
    named = {"session_id": world.session_id, "turn_id": receipt["turn_id"]}
    answer = await world.act(f"{job.tag}:stop", "agents.stop_turn", named)
    outcome = "" if answer is None else answer["outcome"]
    world.ledger.counts[f"stop_turn {outcome}"] += 1
    world.ledger.expect(outcome in ("stopping", "stopped"), "broken", f"{job.tag}: its stop is {outcome} (S8)")
    late = await world.act(
        f"{job.tag}:late", "agents.approvals.decide", decision_of(card, "allow"), may_refuse=CARD_GONE
    )
    world.ledger.expect(late is None, "ran on", f"{job.tag}: its card was decided after its turn was stopped (I6)")


async def _begun(world: World, job: Job, number: int) -> Json:
    job.changes += [FileChange(f"{job.tag}.{each}.txt", None, f"{job.tag}.{each}") for each in range(number)]
    writes = [tool("write_file", path=change.path, content=change.after) for change in job.changes]
    before, after = f"{job.tag}.before", words(job.tag, 4)
    receipt = await world.send(f"{job.tag}:send", steps(say(before) + "".join(writes), say(after)))
    world.replies[receipt["turn_id"]] = Reply(before, may_park=True)
    job.own = OwnWork(receipt["turn_id"], before, after)
    return receipt


async def _parked(world: World, receipt: Json) -> None:
    """Wait until a turn is parked: its request is done (api.md), and its card still waits because nobody decides it."""
    while True:
        found = (await world.line.call("agents.receipt", request_id=receipt["request_id"]))["receipt"]
        if found["state"] == "done":
            world.ledger.counts["parked before the decision"] += 1
            return
        await asyncio.sleep(LOOKS_S)


def _card(world: World, job: Job) -> Json | None:
    return next((card for card in world.watch.cards if "task_id" not in card and job.owns_card(card)), None)
