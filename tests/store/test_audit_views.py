"""`agents.audit.list` in the store (A14): pages, filters, and nothing of another space."""

from datetime import timedelta
from typing import Any

import pytest

from domain.refusal import Refused
from store import audit
from store.audit import Decision
from store.audit_views import audit_page
from store.keyset import cursor_after
from tests.control_plane import Plane

KINDS = ("effect.gate", "effect.start", "approval", "effects", "legacy.action", "effect.gate", "effect")


async def decide(plane: Plane) -> None:
    async with plane.database.write(plane.scope) as tx:
        made = [
            Decision(kind, f"s{at}", "deny", "owner", code="policy_denied" if at == 1 else None)
            for at, kind in enumerate(KINDS, start=1)
        ]
        await audit.record_all(tx, made)


async def page(plane: Plane, limit: int = 50, cursor: str | None = None, **filters: Any) -> dict[str, Any]:
    async with plane.database.read(plane.scope) as tx:
        return await audit_page(tx, limit, cursor, **filters)


async def test_decisions_come_newest_first_in_pages(plane: Plane, other: Plane) -> None:
    """A14, I8: every decision once, in pages of any size."""
    await decide(plane)
    await decide(other)
    for limit in (1, 3, 7):
        found: list[int] = []
        cursor = None
        while True:
            read = await page(plane, limit, cursor)
            found += [item["sequence"] for item in read["items"]]
            cursor = read["next_cursor"]
            if cursor is None:
                break
        assert found == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("kind", "found"),
    [("effect", [7, 6, 2, 1]), ("effect.gate", [6, 1]), ("approval", [3]), ("legacy", [5]), ("e_fect", []), ("ef", [])],
)
async def test_a_kind_covers_those_below_it(plane: Plane, kind: str, found: list[int]) -> None:
    """A14: `effect` covers `effect.gate` and not `effects`; an underscore is no wildcard."""
    await decide(plane)
    assert [item["sequence"] for item in (await page(plane, kind=kind))["items"]] == found


async def test_since_a_time(plane: Plane) -> None:
    """A14: decisions at that time are among them."""
    await decide(plane)
    async with plane.database.write(plane.scope) as tx:
        await audit.record(tx, "approval", "later", "allow", principal="owner", action_digest="d" * 64)
        at = tx.now
    [later] = (await page(plane, since=at))["items"]
    assert (later["subject_id"], later["action_digest"], later["imported"]) == ("later", "d" * 64, False)
    assert "code" not in later
    assert (await page(plane, since=at + timedelta(microseconds=1)))["items"] == []
    assert len((await page(plane, since=at - timedelta(days=1)))["items"]) == len(KINDS) + 1


FOREIGN = ["x", cursor_after("a"), cursor_after("-1"), cursor_after("9" * 30), cursor_after(1)]


@pytest.mark.parametrize("cursor", FOREIGN)
async def test_a_foreign_cursor_is_refused(plane: Plane, cursor: str) -> None:
    """api.md: what is no cursor of this list is said to be none."""
    with pytest.raises(Refused, match="invalid_params"):
        await page(plane, cursor=cursor)
