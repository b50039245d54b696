"""`agents.audit.list` over the wire (A14)."""

from typing import Any

import pytest

from store import audit
from tests.host.conftest import Host


async def decide(host: Host, count: int = 3) -> None:
    async with host.services.database.write(host.services.scope) as tx:
        for at in range(count):
            await audit.record(
                tx, "effect.gate", f"effect_{at}", "deny", principal="owner", code="policy_denied",
                action_digest="d" * 64, details={"grant_ref": "grant_1"},
            )  # fmt: skip


async def test_decisions_are_paged_and_filtered(host: Host) -> None:
    """A14: who, what digest, which grant, why, when; newest first, by keyset."""
    await decide(host)
    async with host.rpc() as rpc:
        first = await rpc.result("agents.audit.list", {"kind": "effect", "limit": 2})
        newest = first["items"][0]
        assert newest == {
            "sequence": newest["sequence"], "at": newest["at"], "kind": "effect.gate", "subject_id": "effect_2",
            "principal": "owner", "verdict": "deny", "code": "policy_denied", "action_digest": "d" * 64,
            "details": {"grant_ref": "grant_1"}, "imported": False,
        }  # fmt: skip
        rest = await rpc.result("agents.audit.list", {"kind": "effect", "limit": 2, "cursor": first["next_cursor"]})
        subjects = [item["subject_id"] for item in first["items"] + rest["items"]]
        assert subjects == ["effect_2", "effect_1", "effect_0"]
        assert rest["next_cursor"] is None
        later = await rpc.result("agents.audit.list", {"since": "2999-01-01T00:00:00.000+02:00"})
        assert later == {"items": [], "next_cursor": None}
        assert (await rpc.result("agents.audit.list", {"kind": "rule"}))["items"] == []


WRONG: list[dict[str, Any]] = [
    {"since": "yesterday"}, {"since": "2026-01-01T00:00:00"}, {"since": "2026-01-01"}, {"since": 1767225600},
    {"since": "0001-01-01T00:00:00+14:00"}, {"since": True}, {"since": ""}, {"kind": "Effect"}, {"kind": "effect."},
    {"kind": "%"}, {"kind": ""}, {"kind": "x" * 65}, {"cursor": "x"}, {"limit": 101}, {"state": "deny"},
]  # fmt: skip


@pytest.mark.parametrize("params", WRONG, ids=str)
async def test_wrong_filters_are_refused(shared_host: Host, params: dict[str, Any]) -> None:
    """api.md, O19: every one with its code, none with an internal error."""
    async with shared_host.rpc() as rpc:
        assert await rpc.code("agents.audit.list", params) == "invalid_params"
