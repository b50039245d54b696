"""The conversation's own changes at rest: what its parked and continued turns told, and their effects (A13, C1)."""

from tests.blackbox.rpc_client import Json
from tests.chaos.checks_effects import check_effects
from tests.chaos.job import Job, OwnWork
from tests.chaos.ledger import Ledger
from tests.chaos.world import World

ENDS = {"allow": ("succeeded", "failed", "unknown"), "deny": ("refused",), "leave": ("withdrawn",)}
"""An allowed change may fail: one that a kill kept from happening is not made later by itself (E13)."""


async def check_own(world: World, messages: list[Json]) -> list[Json]:
    """C1, E13: each turn with cards told everything once, in parts; the effects of all of them."""
    listed = await _own_effects(world)
    found = []
    for job in world.jobs:
        if job.own is None:
            continue
        effects = [effect for effect in listed if job.owns_card(effect)]
        job.own.cards.update(effect["approval_id"] for effect in effects if "approval_id" in effect)
        check_parts(world.ledger, job, job.own, job.own.parts(messages))
        check_effects(world, job, job.tag, effects)
        states = sorted(effect["state"] for effect in effects)
        wanted = len(effects) == len(job.changes) if job.card != "leave" else len(effects) == 1
        world.ledger.expect(wanted, "lost" if len(effects) < len(job.changes) else "doubled", f"{job.tag}: {states}")
        ends = all(state in ENDS[job.card] for state in states)
        world.ledger.expect(ends, "broken", f"{job.tag}: its card was for {job.card}, its effects are {states}")
        found += effects
    return found


def check_parts(ledger: Ledger, job: Job, own: OwnWork, parts: list[Json]) -> None:
    """C1: a parked reply ends with its card, the last one does not; together they say everything once."""
    told = "\n\n".join(part["text"] for part in parts if part["text"])
    ledger.expect(told == own.text, "doubled" if own.text in told else "lost", f"{job.tag} told {told[:160]!r}")
    ledger.expect(bool(parts) and parts[0]["turn_id"] == own.turn_id, "broken", f"{job.tag} is not told by its turn")
    for part in parts[:-1]:
        ledger.expect("card" in part, "broken", f"{job.tag}: message {part['seq']} was continued without a card")
    for part in parts[-1:]:
        ended = "card" in part or bool(part.get("interrupted")) if own.is_stopped else "card" not in part
        ledger.expect(ended, "broken", f"{job.tag}: message {part['seq']} does not end as it should")
    ledger.counts["continued"] += max(0, len(parts) - 1)


async def _own_effects(world: World) -> list[Json]:
    """The conversation's effects of this round; rounds before it are of no interest."""
    if not any(job.own is not None for job in world.jobs):
        return []
    found: list[Json] = []
    wanted = sum(len(job.changes) for job in world.jobs)
    cursor: str | None = None
    while True:
        params = {"limit": 100} if cursor is None else {"limit": 100, "cursor": cursor}
        page = await world.line.call("agents.effects.list", **params)
        found += [effect for effect in page["items"] if "turn_id" in effect]
        cursor = page["next_cursor"]
        if cursor is None or len(found) > 4 * wanted:
            return found
