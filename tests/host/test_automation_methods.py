"""`agents.automations.*` over the wire (U1-U3, U7-U9, P14): the shapes of the contract, codes, receipts, notices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain.automation import Binding
from host.methods.registry import PERSONAL_METHODS
from runtime.settings import Settings
from store import automation_proposals
from store.automation_proposal_rows import Asked
from store.automations import automation_row
from tests.automation_owner import WEEKDAYS, schedule
from tests.effect_world import SCOPE
from tests.host.conftest import Host, Rpc, serving

Json = dict[str, Any]
WORK = {"text": "summarise notes.txt into today.md"}
FIELDS = {
    "automation_id", "binding_id", "title", "agent_id", "engine", "permission_mode", "mode", "overlap", "catchup_s",
    "revision", "binding_revision", "schedule_revision", "state", "schedule", "words", "next_times", "grant", "runs",
    "created_at", "updated_at",
}  # fmt: skip


async def create(rpc: Rpc, request_id: str = "make", **more: Any) -> Json:
    """A new automation of the shared kind."""
    params = {"title": "Morning", "schedule": WEEKDAYS, **more}
    return await rpc.result("agents.automations.create", params, request_id=request_id, user_input=WORK)


async def write(rpc: Rpc, method: str, automation: Json, **more: Any) -> Json:
    """A write at the revision that the automation shows."""
    named = {"automation_id": automation["automation_id"], "expected_revision": automation["revision"], **more}
    return await rpc.result(f"agents.automations.{method}", named, request_id=f"{method}-{automation['revision']}")


async def test_a_schedule_is_previewed(shared_host: Host) -> None:
    """U8, U9: ten times in UTC, the stored form, and words in both languages; nothing is written."""
    async with shared_host.rpc() as rpc:
        shown = await rpc.result("agents.automations.preview", {"schedule": WEEKDAYS})
        assert (len(shown["next_times"]), shown["schedule"], set(shown["words"])) == (10, WEEKDAYS, {"en", "zh"})
        assert shown["next_times"] == sorted(set(shown["next_times"]))
        assert all(time.endswith(":00.000Z") for time in shown["next_times"])
        assert "Europe/Berlin" in shown["words"]["en"]


async def test_an_automation_lives_over_the_wire(host: Host) -> None:
    """api.md, U3, U7, H13: made, looked at, changed, moved, paused, resumed, triggered, deleted; each told to all."""
    async with host.rpc() as rpc, host.rpc() as other:
        made = await create(rpc)
        assert set(made) == FIELDS | {"receipt"}
        assert made["receipt"]["state"] == "done"
        assert (await other.event("automations"))["topic"] == "automations"
        assert {**await create(rpc), "next_times": made["next_times"]} == made
        listed = await rpc.result("agents.automations.list")
        assert (set(listed), [set(item) for item in listed["items"]]) == (
            {"items", "next_cursor", "proposals"},
            [FIELDS],
        )
        one = await rpc.result("agents.automations.get", {"automation_id": made["automation_id"]})
        assert (set(one), one["instructions"]) == (FIELDS | {"instructions"}, WORK["text"])
        changed = await write(rpc, "update", made, title="Evening")
        assert (changed["title"], changed["revision"], changed["binding_revision"]) == ("Evening", 2, 1)
        named = {"automation_id": made["automation_id"], "expected_revision": 2}
        said = {"text": "summarise a.txt into b.txt"}
        rebound = await rpc.result("agents.automations.update", named, request_id="say", user_input=said)
        assert (rebound["revision"], rebound["binding_revision"]) == (3, 2)
        moved = await write(rpc, "reschedule", rebound, schedule={"every": {"seconds": 900}})
        assert (moved["schedule_revision"], moved["schedule"]["every"]["seconds"]) == (2, 900)
        paused = await write(rpc, "pause", moved)
        assert (paused["state"], paused["next_times"]) == ("paused", [])
        resumed = await write(rpc, "resume", paused)
        assert (resumed["state"], len(resumed["next_times"])) == ("active", 5)
        fired = await write(rpc, "trigger", resumed)
        [run] = fired["runs"]
        assert (run["state"], run["cause"], run["count"]) == ("ran", "manual", 1)
        [task] = (await rpc.result("agents.tasks.list", {"automation_id": made["automation_id"]}))["items"]
        assert task["task_id"] == run["task_id"]
        gone = await write(rpc, "delete", fired)
        assert gone["state"] == "deleted"
        assert (await rpc.result("agents.automations.list"))["items"] == []
        assert await rpc.code("agents.automations.get", {"automation_id": made["automation_id"]}) == "not_found"
        late = named | {"expected_revision": gone["revision"]}
        assert await rpc.code("agents.automations.pause", late, request_id="late") == "not_found"
        [kept] = (await rpc.result("agents.tasks.list", {"automation_id": made["automation_id"]}))["items"]
        assert kept["state"] == task["state"]
        audited = [entry["kind"] for entry in (await rpc.result("agents.audit.list"))["items"]]
        kinds = ("create", "update", "reschedule", "pause", "resume", "trigger", "delete")
        assert {f"automation.{kind}" for kind in kinds} <= set(audited)


async def test_a_firing_by_hand_counts_failures_as_the_host_is_set(
    host_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    """U7: `STEWARD_AUTOMATION_FAILURES` also bounds firings that cannot start and were made by hand."""
    async with serving(host_settings(tmp_path, automation_failures=1)) as host, host.rpc() as rpc:
        made = await create(rpc)
        async with host.services.database.write(host.services.scope) as tx:
            (await automation_row(tx, made["automation_id"])).engine = "gone"
        stopped = await write(rpc, "trigger", made)
    assert (stopped["state"], stopped["reason"]) == ("paused", "failures")
    assert stopped["runs"][0]["reason"] == "engine_unavailable"


async def test_a_conflict_says_how_it_stands(host: Host) -> None:
    """U, api.md: the current revisions and state come with the refusal."""
    async with host.rpc() as rpc:
        made = await create(rpc)
        await write(rpc, "pause", made)
        params = {"automation_id": made["automation_id"], "expected_revision": 1}
        answer = await rpc.call("agents.automations.delete", params, request_id="stale")
        assert answer["error"]["data"] == {
            "code": "revision_conflict", "revision": 2, "state": "paused", "binding_revision": 1,
            "schedule_revision": 1,
        }  # fmt: skip


async def test_a_proposal_is_listed_and_confirmed(host: Host) -> None:
    """U9: the card's text is the owner's to confirm; a second confirmation is told what came of the first."""
    async with host.services.database.write(SCOPE) as tx:
        binding = Binding("Morning", "summarise notes.txt into today.md")
        proposal = await automation_proposals.propose_new(tx, binding, schedule(WEEKDAYS), Asked("call"))
    async with host.rpc() as rpc:
        [card] = (await rpc.result("agents.automations.list"))["proposals"]
        assert (card["proposal_id"], card["title"]) == (proposal.proposal_id, "Morning")
        made = await rpc.result("agents.automations.confirm", {"proposal_id": card["proposal_id"]}, request_id="yes")
        assert set(made) == FIELDS | {"receipt"}
        again = await rpc.call("agents.automations.confirm", {"proposal_id": card["proposal_id"]}, request_id="yes-2")
        assert again["error"]["data"]["automation_id"] == made["automation_id"]
        assert (await rpc.result("agents.automations.list"))["proposals"] == []


async def test_an_automation_is_granted_what_its_instructions_name(host: Host) -> None:
    """A11, A15: proposed for what it does now, held by the automation, shown beside it."""
    async with host.rpc() as rpc:
        made = await create(rpc)
        asked = await rpc.result("agents.grants.propose", {"automation_id": made["automation_id"]}, request_id="ask")
        assert asked["automation_id"] == made["automation_id"]
        assert len(asked["bounds"]["resources"]) == 2
        wanted = {"proposal_id": asked["proposal_id"]}
        issued = await rpc.result("agents.grants.issue", wanted, request_id="allow")
        assert issued["grant"]["holder"] == {"automation_id": made["automation_id"], "binding_revision": 1}
        [item] = (await rpc.result("agents.automations.list"))["items"]
        assert item["grant"] == {"ref": issued["grant_ref"], "state": "active", "expires_at": issued["expires_at"]}
        nobody = {"automation_id": "automation_none"}
        assert await rpc.code("agents.grants.propose", nobody, request_id="ask-nobody") == "not_found"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("preview", {"schedule": {}}, "invalid_params"),
        ("preview", {"schedule": {"cron": {"expression": "61 * * * *"}, "timezone": "UTC"}}, "invalid_params"),
        ("preview", {"schedule": {"cron": {"expression": "0 8 * * *"}}}, "invalid_params"),
        ("preview", {"schedule": {"every": {"seconds": 0}}}, "invalid_params"),
        ("create", {"title": "t", "schedule": WEEKDAYS}, "invalid_params"),
        ("create", {"title": "t", "schedule": WEEKDAYS, "mode": "often"}, "invalid_params"),
        ("get", {"automation_id": "automation_none"}, "not_found"),
        ("list", {"cursor": "x"}, "invalid_params"),
        ("update", {"automation_id": "a", "expected_revision": 0}, "invalid_params"),
        ("update", {"automation_id": "a", "expected_revision": 1, "title": "t"}, "not_found"),
        ("update", {"automation_id": "a", "expected_revision": 1, "schedule": WEEKDAYS}, "invalid_params"),
        ("reschedule", {"automation_id": "a", "expected_revision": 1, "schedule": WEEKDAYS}, "not_found"),
        ("pause", {"automation_id": "a"}, "invalid_params"),
        ("resume", {"automation_id": "a", "expected_revision": 1}, "not_found"),
        ("trigger", {"automation_id": "a", "expected_revision": 1}, "not_found"),
        ("delete", {"automation_id": "a", "expected_revision": 1}, "not_found"),
        ("confirm", {"proposal_id": "proposal_none"}, "not_found"),
    ],
)
async def test_wrong_calls_get_their_code(shared_host: Host, method: str, params: Json, code: str) -> None:
    """api.md: unknown fields, wrong values, unknown automations."""
    name = f"agents.automations.{method}"
    async with shared_host.rpc() as rpc:
        envelope = {"request_id": f"{method}-wrong"} if PERSONAL_METHODS[name].writes else {}
        assert await rpc.code(name, params, **envelope) == code


async def test_instructions_are_said_once(host: Host) -> None:
    """api.md: text alone, in one place."""
    async with host.rpc() as rpc:
        made = await create(rpc)
        named = {"automation_id": made["automation_id"], "expected_revision": 1, "instructions": "x"}
        twice = await rpc.code("agents.automations.update", named, request_id="two", user_input=WORK)
        assert twice == "invalid_params"
        params = {"title": "t", "schedule": WEEKDAYS}
        said = {"text": "x", "engine": "native"}
        assert await rpc.code("agents.automations.create", params, request_id="e", user_input=said) == "invalid_params"
        nothing = {"automation_id": made["automation_id"], "expected_revision": 1}
        assert await rpc.code("agents.automations.update", nothing, request_id="n") == "invalid_params"


def test_writes_are_local_only() -> None:
    """P14, H20: as api.md marks them."""
    own = {name.rpartition(".")[2]: method for name, method in PERSONAL_METHODS.items() if ".automations." in name}
    reading = {"preview", "list", "get"}
    writing = {"create", "confirm", "update", "reschedule", "pause", "resume", "trigger", "delete"}
    assert {name for name, method in own.items() if method.local and method.writes} == writing
    assert {name for name, method in own.items() if not method.local and not method.writes} == reading
