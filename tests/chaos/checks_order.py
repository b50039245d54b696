"""The order of the conversation, as its user can check it: everything is told in the order in which it came (C1, D7).

An input comes when it is accepted, a delivery when its task completes or its question is asked, a continuation when its
card is decided. A delivery that was retried has a new place and is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from tests.blackbox.rpc_client import Json
from tests.chaos.ledger import Ledger
from tests.chaos.world import World


@dataclass(frozen=True)
class Told:
    """Something that came at a time (RFC 3339) and was told at a sequence of the conversation."""

    came: str
    seq: int
    what: str


def check_order(ledger: Ledger, told: Iterable[Told]) -> None:
    """C1, D7: what came earlier was told earlier. What came within one millisecond may be told in either order."""
    newest: Told | None = None
    pending: list[Told] = []
    for each in sorted(told, key=lambda one: one.came):
        if pending and pending[0].came < each.came:
            newest = max([*pending, *([newest] if newest else [])], key=lambda one: one.seq)
            pending = []
        pending.append(each)
        if newest is not None:
            ledger.expect(
                newest.seq < each.seq, "broken",
                f"{each.what} came at {each.came} and was told at {each.seq}; {newest.what} came at {newest.came} "
                f"and was told at {newest.seq}",
            )  # fmt: skip


def all_told(world: World, messages: list[Json], details: list[Json]) -> list[Told]:
    """Everything of a round whose time of coming is known, and that was told."""
    at = {message["turn_id"]: message["seq"] for message in messages if message["role"] == "assistant"}
    found: list[Told] = []
    retried = set()
    for request, receipt in world.ledger.accepted.values():
        if request.method == "agents.send" and receipt["turn_id"] in at:
            found.append(Told(receipt["accepted_at"], at[receipt["turn_id"]], request.request_id))
        elif request.method == "agents.tasks.retry_delivery":
            retried.add(receipt["delivery_id"])
    for detail in details:
        found += _delivered(detail, retried)
    return found + _continued(world, messages)


def _delivered(detail: Json, retried: set[str]) -> list[Told]:
    ends = {attempt["requirement_version"]: attempt["ended_at"] for attempt in detail["attempts"]}
    asked = {question.get("message_seq"): question["created_at"] for question in detail["questions"]}
    told = []
    for delivery in detail["deliveries"]:
        # When a grant was asked for is not told on the wire, so a request's place is not looked at.
        unplaced = delivery["kind"] == "authorization" or delivery["delivery_id"] in retried
        if delivery["state"] != "delivered" or unplaced:
            continue
        seq = delivery["message_seq"]
        came = asked.get(seq) if delivery["kind"] == "question" else ends[delivery["requirement_version"]]
        if came is not None:
            told.append(Told(came, seq, f"{delivery['kind']} of {detail['task']['title']}"))
    return told


def _continued(world: World, messages: list[Json]) -> list[Told]:
    """Continuations of parked turns: each follows the decision of the card that its predecessor ended with."""
    decided = {
        request.params["approval_id"]: receipt["accepted_at"]
        for request, receipt in world.ledger.accepted.values()
        if request.method == "agents.approvals.decide"
    }
    told = []
    for job in world.jobs:
        parts = job.own.parts(messages) if job.own is not None else []
        for parked, continued in pairwise(parts):
            if (came := decided.get(parked.get("card", ""))) is not None:
                told.append(Told(came, continued["seq"], f"a continuation of {job.tag}"))
    return told
