"""`agents.approvals.*` and `agents.effects.*` over the wire (E9, E10, E13, E20)."""

from typing import Any

import pytest

from store import effects, gate
from store.effect_ends import UNKNOWN
from store.effect_rows import effect_row
from store.gate import Outside
from tests.effect_world import LIMITS, SCOPE, Clock, World
from tests.host.conftest import Host
from tests.own_choices import choose


@pytest.fixture
async def world(host: Host) -> World:
    """The host's own database and files, with runs that nobody works on; nothing is reviewed automatically."""
    async with host.services.database.write(SCOPE) as tx:
        await choose(tx, auto_review=False)
    return World(host.services.database, host.settings.files_dir, host.settings.state_dir, Clock())


async def test_a_card_is_read_and_decided_once(host: Host, world: World) -> None:
    """E9, E10: what api.md shows, words in every language; a decision raises the version and is told to everybody."""
    effect = await world.proposed(await world.task(), path="a.txt", content="hello\n")
    async with host.rpc() as rpc:
        [card] = (await rpc.result("agents.approvals.list", {"state": "pending"}))["items"]
        whole = await rpc.result("agents.approvals.get", {"approval_id": card["approval_id"]})
        assert whole == card | {"details": {"diff": "@@ -0,0 +1 @@\n+hello"}}
        assert card["action_digest"] == effect.action_digest
        assert set(card) == {
            "approval_id", "version", "effect_id", "task_id", "kind", "action_digest", "words", "impact", "state",
            "expires_at", "words_by_language", "impact_by_language",
        }  # fmt: skip
        decision = {
            "approval_id": card["approval_id"], "version": 1, "action_digest": card["action_digest"],
            "decision": "allow_once",
        }  # fmt: skip
        answer = await rpc.result("agents.approvals.decide", decision, request_id="decide-1")
        assert answer["approval"]["state"] == "approved"
        assert answer["approval"]["version"] == 2
        assert answer["receipt"]["state"] == "done"
        again = await rpc.result("agents.approvals.decide", decision, request_id="decide-1")
        assert again["receipt"] == answer["receipt"]
        assert await rpc.code("agents.approvals.decide", decision, request_id="decide-2") == "approval_version_conflict"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"version": 7}, "approval_version_conflict"),
        ({"version": "1"}, "invalid_params"),
        ({"version": 0}, "invalid_params"),
        ({"action_digest": "wrong"}, "action_digest_mismatch"),
        ({"approval_id": "approval_none"}, "not_found"),
        ({"decision": "allow_always"}, "invalid_params"),
        ({"extra": 1}, "invalid_params"),
    ],
)
async def test_a_wrong_decision_gets_its_code(host: Host, world: World, change: dict[str, Any], code: str) -> None:
    """E10, api.md: each wrong field has its own answer, and the card stays open."""
    effect = await world.proposed(await world.task())
    card = await world.card(effect)
    assert card is not None
    decision = {
        "approval_id": card.approval_id, "version": 1, "action_digest": card.action_digest, "decision": "deny"
    } | change  # fmt: skip
    async with host.rpc() as rpc:
        assert await rpc.code("agents.approvals.decide", decision, request_id="decide-1") == code
        assert await rpc.code("agents.receipt", {"request_id": "decide-1"}) == "not_found"
    after = await world.card(effect)
    assert after is not None
    assert after.state == "pending"


async def test_effects_are_listed_with_their_trail_and_settled_by_hand(host: Host, world: World) -> None:
    """E13, E20: only an unknown effect can be settled, once, with a note."""
    run = await world.task()
    effect = await world.proposed(run)
    settle = {"effect_id": effect.effect_id, "outcome": "succeeded", "note": "looked at it"}
    async with host.rpc() as rpc:
        assert await rpc.code("agents.effects.settle", settle, request_id="settle-1") == "invalid_params"
        await world.decide(effect)
        async with world.database.write(SCOPE) as tx:
            await gate.pass_gate(tx, await effect_row(tx, effect.effect_id), Outside(), LIMITS)
        async with world.database.write(SCOPE) as tx:
            await gate.start(tx, await effect_row(tx, effect.effect_id), Outside(), LIMITS)
            await effects.settle(tx, effect.effect_id, UNKNOWN)
        [listed] = (await rpc.result("agents.effects.list", {"task_id": run.task_id, "state": "unknown"}))["items"]
        assert listed["trail"][-1]["code"] == "effect_outcome_unknown"
        settled = await rpc.result("agents.effects.settle", settle, request_id="settle-1")
        assert settled["state"] == "succeeded"
        assert [entry["step"] for entry in settled["trail"]][-2:] == ["outcome", "settlement"]
        assert await rpc.result("agents.effects.settle", settle, request_id="settle-1") == settled
        assert (await rpc.result("agents.effects.list", {"state": "unknown"}))["items"] == []
        assert await rpc.code("agents.effects.list", {"state": "lost"}) == "invalid_params"


async def test_pages_of_effects_follow_each_other(host: Host, world: World) -> None:
    """api.md: keyset pages without gaps or doubles."""
    made = {(await world.proposed(await world.task())).effect_id for _ in range(5)}
    found: list[str] = []
    cursor: dict[str, str] = {}
    async with host.rpc() as rpc:
        while True:
            page = await rpc.result("agents.effects.list", {"limit": 2, **cursor})
            found += [item["effect_id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert await rpc.code("agents.effects.list", {"cursor": "x"}) == "invalid_params"
    assert len(found) == 5
    assert set(found) == made
