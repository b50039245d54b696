"""`agents.grants.*` over the wire (A7, A9-A11): proposed to anybody, issued and revoked by the owner locally."""

from typing import Any

import pytest

from domain.effect import EffectState
from tests.effect_world import Clock, World
from tests.host.conftest import Host


@pytest.fixture
def world(host: Host) -> World:
    """The host's own database and files, with runs that nobody works on."""
    return World(host.services.database, host.settings.files_dir, host.settings.state_dir, Clock())


async def test_a_waiting_effect_is_proposed_issued_listed_and_revoked(host: Host, world: World) -> None:
    """A10, A11, api.md: the proposal is the exact effect; the grant is listed with its state and revoked at once."""
    run = await world.task(granted=False)
    effect = await world.proposed(run, path="a.txt", content="x")
    assert effect.state == EffectState.WAITING_AUTHORIZATION
    async with host.rpc() as rpc:
        proposal = await rpc.result("agents.grants.propose", {"task_id": run.task_id}, request_id="ask-1")
        receipt = proposal.pop("receipt")
        assert (receipt["request_id"], receipt["state"], receipt["task_id"]) == ("ask-1", "done", run.task_id)
        assert set(proposal) == {
            "proposal_id", "bounds", "words", "words_by_language", "created_at", "task_id", "effect_id",
        }  # fmt: skip
        assert proposal["effect_id"] == effect.effect_id
        assert "a.txt" in proposal["words"]
        listed = await rpc.result("agents.grants.list", {})
        assert (listed["items"], listed["proposals"]) == ([], [proposal])
        wanted = {"proposal_id": proposal["proposal_id"], "lifetime_s": 3600}
        issued = await rpc.result("agents.grants.issue", wanted, request_id="issue-1")
        assert (issued["receipt"]["state"], issued["receipt"]["task_id"]) == ("done", run.task_id)
        again = await rpc.result("agents.grants.issue", wanted, request_id="issue-1")
        assert again == issued
        listed = await rpc.result("agents.grants.list", {})
        [grant] = listed["items"]
        assert listed["proposals"] == []
        assert (grant["grant_ref"], grant["state"]) == (issued["grant_ref"], "active")
        assert grant["holder"] == {"task_id": run.task_id, "requirement_version": 1}
        assert grant["expires_at"] == issued["expires_at"]
        task = (await rpc.result("agents.tasks.get", {"task_id": run.task_id}))["task"]
        assert task["grant"] == {"ref": issued["grant_ref"], "expires_at": issued["expires_at"]}
        given = {"grant_ref": issued["grant_ref"], "reason": "no more"}
        revoked = await rpc.result("agents.grants.revoke", given, request_id="revoke-1")
        assert revoked["grant"]["state"] == "revoked"
        assert revoked["grant"]["revoked_at"]


async def test_a_text_is_proposed_before_there_is_a_task_and_bound_by_the_first_create(host: Host) -> None:
    """A11, A15, I2: proposed once per request; the first create that names its grant holds it, a second one cannot."""
    async with host.rpc() as rpc:
        text = {"proposal_text": "Write out/a.md"}
        assert await rpc.code("agents.grants.propose", text) == "invalid_params"
        proposal = await rpc.result("agents.grants.propose", text, request_id="ask-1")
        assert await rpc.result("agents.grants.propose", text, request_id="ask-1") == proposal
        other = {"proposal_text": "Write out/b.md"}
        assert await rpc.code("agents.grants.propose", other, request_id="ask-1") == "request_id_conflict"
        assert (await rpc.result("agents.receipt", {"request_id": "ask-1"}))["receipt"] == proposal["receipt"]
        issued = await rpc.result(
            "agents.grants.issue", {"proposal_id": proposal["proposal_id"], "lifetime_s": 60}, request_id="issue-1"
        )
        [grant] = (await rpc.result("agents.grants.list", {}))["items"]
        assert (grant["state"], grant["holder"]) == ("unbound", {"proposal_id": proposal["proposal_id"]})
        create: dict[str, Any] = {"title": "t", "grant_ref": issued["grant_ref"]}
        said = {"text": "Write out/a.md"}
        made = await rpc.result("agents.tasks.create", create, request_id="create-1", user_input=said)
        assert made["task"]["grant"]["ref"] == issued["grant_ref"]
        code = await rpc.code("agents.tasks.create", create, request_id="create-2", user_input=said)
        assert code == "authorization_requirement_mismatch"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("propose", {}, "invalid_params"),
        ("propose", {"task_id": "task_x", "proposal_text": "x"}, "invalid_params"),
        ("propose", {"task_id": "task_x"}, "not_found"),
        ("propose", {"automation_id": "automation_x"}, "not_found"),
        ("propose", {"proposal_text": ""}, "invalid_params"),
        ("issue", {"proposal_id": "proposal_x", "lifetime_s": 60}, "not_found"),
        ("issue", {"proposal_id": "proposal_x", "lifetime_s": "60"}, "invalid_params"),
        ("issue", {"proposal_id": "proposal_x", "lifetime_s": 30 * 24 * 3600 + 1}, "invalid_params"),
        ("revoke", {"grant_ref": "grant_x"}, "not_found"),
        ("revoke", {"grant_ref": "grant_x", "reason": "x" * 501}, "invalid_params"),
        ("list", {"cursor": "x"}, "invalid_params"),
    ],
)
async def test_what_is_wrong_has_its_code(host: Host, method: str, params: dict[str, Any], code: str) -> None:
    """A7, P1, api.md: bad input changes nothing and says what was wrong."""
    async with host.rpc() as rpc:
        envelope = {} if method == "list" else {"request_id": "wrong-1"}
        assert await rpc.code(f"agents.grants.{method}", params, **envelope) == code
        assert (await rpc.result("agents.grants.list", {}))["items"] == []
