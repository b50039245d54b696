"""What tests ask of a Steward's work: decide its cards, wait until everything rests, check what must hold at rest."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.blackbox.instance import REST_LIMIT_S, Instance
from tests.blackbox.rpc_client import Json, Refusal, RpcClient

TERMINAL = ("completed", "failed", "stopped")
SETTLED = ("delivered", "failed", "cancelled")
LOOK_S = 0.3
EFFECT_ENDS = ("succeeded", "failed", "unknown", "withdrawn", "refused")


@dataclass
class Snapshot:
    """Everything a client can see of a Steward's work."""

    messages: list[Json] = field(default_factory=list)
    tasks: list[Json] = field(default_factory=list)
    effects: list[Json] = field(default_factory=list)
    cards: list[Json] = field(default_factory=list)

    def task(self, title: str) -> Json:
        """The one task with this title."""
        (found,) = [task for task in self.tasks if task["title"] == title]
        return found

    def effect_of(self, task: Json) -> Json:
        """The one effect of a task."""
        (found,) = [effect for effect in self.effects if effect.get("task_id") == task["task_id"]]
        return found

    def replies_to(self, turn_id: str) -> list[Json]:
        """The assistant's messages of one turn."""
        return [each for each in self.messages if each["turn_id"] == turn_id and each["role"] == "assistant"]

    @property
    def at_rest(self) -> bool:
        """Whether no task is under way and every delivery is settled."""
        return all(
            task["state"] in TERMINAL
            and task["deliveries"]
            and all(delivery["state"] in SETTLED for delivery in task["deliveries"])
            for task in self.tasks
        )


async def look(client: RpcClient) -> Snapshot:
    """Read everything; messages come last, so that they hold what the tasks say was delivered."""
    tasks = await client.listed("agents.tasks.list")
    effects = await client.listed("agents.effects.list")
    cards = await client.listed("agents.approvals.list")
    return Snapshot(messages=await client.history(), tasks=tasks, effects=effects, cards=cards)


async def until_message(steward: Instance, within_s: float = REST_LIMIT_S, **wanted: object) -> Json:
    """Wait for a message with these fields."""
    found: list[Json] = []

    async def there() -> bool:
        found[:] = [
            message
            for message in await steward.history()
            if all(message.get(key) == value for key, value in wanted.items())
        ]
        return bool(found)

    await steward.until(there, f"a message with {wanted}", within_s, every_s=LOOK_S)
    return found[0]


async def until_reply(steward: Instance, receipt: Json) -> Json:
    """Wait for the reply of a send's turn."""
    return await until_message(steward, role="assistant", turn_id=receipt["turn_id"])


async def until_card(steward: Instance, **wanted: object) -> Json:
    """Wait for a pending card with these fields, and read its details; a grant that is asked for first is issued."""
    found: list[Json] = []

    async def there() -> bool:
        await grant_what_is_asked(steward)
        cards = await steward.ask(lambda client: client.listed("agents.approvals.list", state="pending"))
        found[:] = [card for card in cards if all(card.get(key) == value for key, value in wanted.items())]
        return bool(found)

    await steward.until(there, f"a card with {wanted}", every_s=LOOK_S)
    card_id = {"approval_id": found[0]["approval_id"]}
    return await steward.ask(lambda client: client.call("agents.approvals.get", card_id))


async def grant_what_is_asked(steward: Instance) -> None:
    """Issue every grant that a task asks for, as a person does who reads the request and agrees (A10)."""
    page = await steward.ask(lambda client: client.call("agents.grants.list", {}))
    for proposal in page["proposals"]:
        wanted = {"proposal_id": proposal["proposal_id"], "lifetime_s": 3600}
        request_id = f"grant:{proposal['proposal_id']}"
        try:
            await steward.ask(
                lambda client, wanted=wanted, request_id=request_id: client.call(  # type: ignore[misc]
                    "agents.grants.issue", wanted, request_id=request_id
                )
            )
        except Refusal as refusal:
            # Its task was stopped, or asked for something else, between the reading and the answer.
            if refusal.code != "authorization_requirement_mismatch":
                raise


async def decide(steward: Instance, card: Json, decision: str = "allow_once") -> Json:
    """Decide a card as it was shown; repeated after a lost answer under the same request id."""
    named = {key: card[key] for key in ("approval_id", "version", "action_digest")}
    request_id = f"decide:{card['approval_id']}"
    return await steward.ask(
        lambda client: client.call("agents.approvals.decide", {**named, "decision": decision}, request_id=request_id)
    )


async def until_at_rest(steward: Instance, receipts: Iterable[Json]) -> Snapshot:
    """Wait until every request is done, every task has ended and every delivery is settled."""
    open_ids = {receipt["request_id"] for receipt in receipts}
    seen = Snapshot()

    async def rests(client: RpcClient) -> Snapshot:
        for request_id in tuple(open_ids):
            state = (await client.call("agents.receipt", {"request_id": request_id}))["receipt"]["state"]
            if state == "done":
                open_ids.discard(request_id)
        return await look(client)

    async def all_rest() -> bool:
        nonlocal seen
        seen = await steward.ask(rests)
        return not open_ids and seen.at_rest

    await steward.until(all_rest, "everything has come to rest by itself", every_s=2 * LOOK_S)
    return seen


def check_invariants(seen: Snapshot, receipts: Iterable[Json]) -> None:
    """What holds at rest, whatever died before (I1, I2, I5, C1)."""
    assert [message["seq"] for message in seen.messages] == list(range(1, len(seen.messages) + 1))
    own = list(receipts)
    inputs = {message["seq"]: message for message in seen.messages if message["role"] == "user"}
    for receipt in own:
        assert inputs[receipt["message_seq"]]["turn_id"] == receipt["turn_id"]
    replies = [replies[0]["seq"] for receipt in own if (replies := seen.replies_to(receipt["turn_id"]))]
    assert len(replies) == len(own), "each input has its reply"
    assert replies == sorted(replies), "replies are in the order of acceptance"
    per_turn = Counter(message["turn_id"] for message in seen.messages if message["role"] == "assistant")
    assert set(per_turn.values()) <= {1}, "no turn is stored twice"
    delivered = Counter(
        message["delivery"]["delivery_id"] for message in seen.messages if message["origin"] == "delivery"
    )
    assert set(delivered.values()) <= {1}, "nothing is delivered twice"
    expected = {delivery["delivery_id"]: delivery for task in seen.tasks for delivery in task["deliveries"]}
    assert {delivery["state"] for delivery in expected.values()} <= {"delivered"}, "each result is delivered"
    assert set(delivered) == set(expected)
    assert all(effect["state"] in EFFECT_ENDS for effect in seen.effects)


async def refusal_of(steward: Instance, method: str, params: Any, **envelope: object) -> str | None:
    """The code of a refused call, None when it was accepted."""
    async with steward.client() as client:
        try:
            await client.call(method, params, **envelope)
        except Refusal as refusal:
            return refusal.code
    return None
