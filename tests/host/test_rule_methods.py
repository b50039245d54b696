"""`agents.rules.*` and `agents.settings.*` over the wire (E5-E8, P14)."""

from typing import Any

import pytest

from host.methods.registry import PERSONAL_METHODS
from store.database import Scope
from store.user_settings import auto_review, import_choice
from tests.effect_world import SCOPE, Clock, World
from tests.host.conftest import Host

AREAS = ("rules", "settings")


@pytest.fixture
def world(host: Host) -> World:
    """The host's own database and files, with runs that nobody works on."""
    return World(host.services.database, host.settings.files_dir, host.settings.state_dir, Clock())


async def unreviewed(host: Host) -> None:
    """The owner has turned the automatic review off."""
    async with host.services.database.write(SCOPE) as tx:
        await import_choice(tx, "auto_review", False)


async def test_a_rule_is_shown_saved_switched_and_deleted(host: Host, world: World) -> None:
    """E6, E7, api.md: the shapes of the contract; the card is decided by a write of its own."""
    await unreviewed(host)
    run = await world.task()
    await world.proposed(run, path="a.txt", content="hello\n")
    async with host.rpc() as rpc:
        [card] = (await rpc.result("agents.approvals.list", {"state": "pending"}))["items"]
        shown = await rpc.result("agents.rules.preview", {"approval_id": card["approval_id"]})
        assert set(shown) == {"scope", "scope_digest", "words", "words_by_language"}
        assert str(host.settings.files_dir) not in str(shown)
        wanted = {"approval_id": card["approval_id"], "scope_digest": shown["scope_digest"], "mode": "allow"}
        rule = await rpc.result("agents.rules.save", wanted, request_id="save-1")
        assert {key: rule[key] for key in ("revision", "kind", "mode", "paused", "scope", "words")} == {
            "revision": 1, "kind": "file", "mode": "allow", "paused": False, "scope": shown["scope"],
            "words": shown["words"],
        }  # fmt: skip
        assert rule["receipt"]["state"] == "done"
        [listed] = (await rpc.result("agents.rules.list"))["items"]
        assert listed == {key: value for key, value in rule.items() if key != "receipt"}
        [waiting] = (await rpc.result("agents.approvals.list", {"state": "pending"}))["items"]
        assert waiting["approval_id"] == card["approval_id"]
        named = {"rule_id": rule["rule_id"], "expected_revision": 1}
        asks = await rpc.result("agents.rules.update", named | {"mode": "ask", "paused": True}, request_id="update-1")
        assert (asks["revision"], asks["mode"], asks["paused"]) == (2, "ask", True)
        late = await rpc.call("agents.rules.delete", named, request_id="delete-1")
        assert late["error"]["data"] == {"code": "revision_conflict", "revision": 2, "mode": "ask", "paused": True}
        gone = await rpc.result("agents.rules.delete", named | {"expected_revision": 2}, request_id="delete-2")
        assert gone["deleted"] is True
        assert (await rpc.result("agents.rules.list"))["items"] == []
        kinds = [row["kind"] for row in (await rpc.result("agents.audit.list"))["items"]]
        assert {"rule.save", "rule.update", "rule.delete"} <= set(kinds)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("agents.rules.preview", {"approval_id": "approval_none"}, "not_found"),
        ("agents.rules.save", {"approval_id": "a", "scope_digest": "d", "mode": "always"}, "invalid_params"),
        ("agents.rules.save", {"approval_id": "a", "scope_digest": "d", "mode": "allow"}, "not_found"),
        ("agents.rules.update", {"rule_id": "r", "expected_revision": 0}, "invalid_params"),
        ("agents.rules.update", {"rule_id": "r", "expected_revision": 1, "mode": "ask"}, "not_found"),
        ("agents.rules.update", {"rule_id": "r", "expected_revision": 1, "scope": {}}, "invalid_params"),
        ("agents.rules.delete", {"rule_id": "r", "expected_revision": 1}, "not_found"),
        ("agents.settings.update", {"expected_revision": 0}, "invalid_params"),
        ("agents.settings.update", {"expected_revision": 9, "changes": {}}, "revision_conflict"),
        ("agents.settings.update", {"expected_revision": 0, "changes": {"aggregation_s": 901}}, "invalid_params"),
        ("agents.settings.update", {"expected_revision": 0, "changes": {"channels": [{}]}}, "invalid_params"),
    ],
)
async def test_wrong_calls_get_their_code(shared_host: Host, method: str, params: dict[str, Any], code: str) -> None:
    """api.md: unknown fields, wrong values, unknown rules."""
    async with shared_host.rpc() as rpc:
        envelope = {"request_id": f"{method}-x"} if PERSONAL_METHODS[method].writes else {}
        assert await rpc.code(method, params, **envelope) == code


@pytest.mark.parametrize("zone", ["Nowhere/City", "../UTC", "", "/etc/localtime", "Europe", "UTC\u0000"])
async def test_a_zone_that_does_not_exist_is_refused(shared_host: Host, zone: str) -> None:
    """N2: quiet hours are in an IANA zone."""
    changes = {"quiet_hours": {"enabled": True, "timezone": zone}}
    async with shared_host.rpc() as rpc:
        params = {"expected_revision": 0, "changes": changes}
        assert await rpc.code("agents.settings.update", params, request_id="zone-1") == "invalid_params"


async def test_an_agent_that_does_not_exist_gets_no_choice(host: Host) -> None:
    """N2, P1: what nobody could ever use is not kept; a choice can be taken back all the same."""
    async with host.rpc() as rpc:
        for choice, code in ((False, "not_found"), (True, "not_found")):
            changes = {"notifications": {"agents": {"nobody": choice, "twin": False}}}
            params = {"expected_revision": 0, "changes": changes}
            assert await rpc.code("agents.settings.update", params, request_id=f"agent-{choice}") == code
        assert (await rpc.result("agents.settings.get"))["notifications"] == {"enabled": True, "agents": {}}
        made = await rpc.result("agents.profiles.create", {"name": "Aide", "instructions": ""}, request_id="aide")
        known = {"notifications": {"agents": {made["agent_id"]: False, "nobody": None}}}
        params = {"expected_revision": 0, "changes": known}
        after = await rpc.result("agents.settings.update", params, request_id="agent-known")
        assert after["notifications"]["agents"] == {made["agent_id"]: False}


async def test_settings_are_read_and_changed_by_revision(host: Host) -> None:
    """api.md, E8: defaults first; a choice is kept, told to all, and made once per request."""
    async with host.rpc() as rpc, host.rpc() as other:
        before = await rpc.result("agents.settings.get")
        assert set(before.pop("push")) == {"application_server_key"}
        assert before == {
            "revision": 0,
            "notifications": {"enabled": True, "agents": {}},
            "quiet_hours": {"enabled": False, "timezone": "UTC", "start": "22:00", "end": "07:00"},
            "aggregation_s": 0, "auto_review": True, "inputs_while_running": "queue", "language": "en", "channels": [],
        }  # fmt: skip
        changes = {
            "auto_review": False, "quiet_hours": {"enabled": True, "timezone": "Asia/Shanghai"}, "channels": [],
            "notifications": {"agents": {"twin": False}},
        }  # fmt: skip
        params = {"expected_revision": 0, "changes": changes}
        after = await rpc.result("agents.settings.update", params, request_id="settings-1")
        assert (after["revision"], after["auto_review"]) == (1, False)
        assert await rpc.result("agents.settings.update", params, request_id="settings-1") == after
        assert after["quiet_hours"] == {"enabled": True, "timezone": "Asia/Shanghai", "start": "22:00", "end": "07:00"}
        assert (await other.event("settings"))["topic"] == "settings"
        assert await rpc.code("agents.settings.update", params, request_id="settings-2") == "revision_conflict"
        conflict = await rpc.code("agents.settings.update", params | {"expected_revision": 1}, request_id="settings-1")
        assert conflict == "request_id_conflict"
        assert await rpc.result("agents.settings.get") == after


async def test_an_imported_choice_never_replaces_one(host: Host) -> None:
    """E8, E19: it counts where the person has made none here, and in this user space alone."""
    database = host.services.database
    async with database.write(SCOPE) as tx:
        assert await auto_review(tx)
        assert await import_choice(tx, "language", "zh")
        assert await import_choice(tx, "auto_review", False)
        assert not await import_choice(tx, "auto_review", True)
        assert not await auto_review(tx)
    async with database.read(Scope("other", "personal")) as tx:
        assert await auto_review(tx)
    async with host.rpc() as rpc:
        params = {"expected_revision": 2, "changes": {"auto_review": True}}
        assert (await rpc.result("agents.settings.update", params, request_id="s"))["language"] == "zh"
    async with database.write(SCOPE) as tx:
        assert not await import_choice(tx, "auto_review", False)
        assert await auto_review(tx)


def test_writes_of_rules_and_settings_are_local_only() -> None:
    """P14: as api.md marks them."""
    marked = {name: method.local for name, method in PERSONAL_METHODS.items() if name.split(".")[1] in AREAS}
    assert marked == {
        "agents.rules.list": False, "agents.rules.preview": False, "agents.rules.save": True,
        "agents.rules.update": True, "agents.rules.delete": True, "agents.settings.get": False,
        "agents.settings.update": True,
    }  # fmt: skip
