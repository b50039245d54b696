"""Agents of the person (api.md `agents.profiles`): twin and others, by revision, and what they may be given to do."""

import pytest
from sqlalchemy import update

from domain.agent_profile import PROFILES
from domain.refusal import Refused
from store import agent_profiles
from store.agent_profiles import ProfileChange, Write
from store.tables_authority import AuditRow
from store.tables_work import TaskRow
from tests.attention_acts import agent, many_agents
from tests.control_plane import Plane


def write(plane: Plane, request_id: str | None = None) -> Write:
    return Write(request_id or plane.request_id(), "owner", "offline")


async def change(plane: Plane, agent_id: str, revision: int, **wanted: object) -> dict[str, object]:
    async with plane.database.write(plane.scope) as tx:
        made = ProfileChange(**wanted)  # type: ignore[arg-type]
        _, row = await agent_profiles.update(tx, agent_id, revision, made, write(plane))
        assert row is not None
        return agent_profiles.profile_view(row)


async def test_twin_is_always_there_and_is_changed_like_any_other(plane: Plane) -> None:
    """api.md: it has no row until then; it can be neither disabled nor deleted."""
    async with plane.database.read(plane.scope) as tx:
        [twin] = (await agent_profiles.profiles_view(tx))["items"]
    assert (twin["agent_id"], twin["name"], twin["enabled"], twin["revision"]) == ("twin", "Twin", True, 0)
    changed = await change(plane, "twin", 0, name="Zwilling", instructions="Be brief.")
    assert (changed["name"], changed["revision"]) == ("Zwilling", 1)
    async with plane.database.write(plane.scope) as tx:
        assert await agent_profiles.instructions_of(tx, "twin") == "Be brief."
        for end in (agent_profiles.disable, agent_profiles.delete):
            with pytest.raises(Refused, match="invalid_params"):
                await end(tx, "twin", 1, write(plane))
    with pytest.raises(Refused, match="invalid_params"):
        await change(plane, "twin", 1, enabled=False)


async def test_an_agent_is_made_once_per_request_and_changed_at_its_revision(plane: Plane, other: Plane) -> None:
    """I2, P1: another space does not find it; a wrong revision changes nothing."""
    async with plane.database.write(plane.scope) as tx:
        _, made = await agent_profiles.create(tx, "Aide", "Help.", "offline", write(plane, "make"))
    async with plane.database.write(plane.scope) as tx:
        _, again = await agent_profiles.create(tx, "Aide", "Help.", "offline", write(plane, "make"))
        assert made is not None
        assert again is not None
        assert again.agent_id == made.agent_id
        with pytest.raises(Refused, match="request_id_conflict"):
            await agent_profiles.create(tx, "Other", "Help.", None, write(plane, "make"))
    with pytest.raises(Refused, match="revision_conflict"):
        await change(plane, made.agent_id, 2, name="X")
    with pytest.raises(Refused, match="not_found"):
        await change(other, made.agent_id, 1, name="X")
    assert (await change(plane, made.agent_id, 1, name="X"))["revision"] == 2
    kinds = [row.kind for row in await plane.rows(AuditRow)]
    assert kinds == ["profiles.create", "profiles.update"]
    details = [row.details for row in await plane.rows(AuditRow)]
    assert details == [{"revision": 1}, {"revision": 2}], "no words of the person"


async def test_only_an_enabled_agent_is_given_tasks(plane: Plane) -> None:
    """T1, N12: unknown, disabled and deleted are alike; one with a task at work is not deleted."""
    aide = await agent(plane)
    task = await plane.task(agent_id=aide)
    async with plane.database.write(plane.scope) as tx:
        with pytest.raises(Refused, match="task_active"):
            await agent_profiles.delete(tx, aide, 1, write(plane))
    async with plane.database.write(plane.scope) as tx:
        await agent_profiles.disable(tx, aide, 1, write(plane))
    for agent_id in (aide, "agent_none"):
        with pytest.raises(Refused, match="not_found"):
            await plane.task(agent_id=agent_id)
    assert (await change(plane, aide, 2, enabled=True))["enabled"] is True
    await plane.task(agent_id=aide)
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(update(TaskRow).where(TaskRow.agent_id == aide).values(state="completed"))
        await agent_profiles.delete(tx, aide, 3, write(plane))
    with pytest.raises(Refused, match="not_found"):
        await plane.task(agent_id=aide)
    assert task.agent_id == aide


async def test_agents_are_bounded(plane: Plane) -> None:
    """api.md: as many as the settings have switches for."""
    await many_agents(plane, PROFILES)
    with pytest.raises(Refused) as refused:
        await agent(plane)
    assert refused.value.refusal.details["limit"] == PROFILES
    async with plane.database.read(plane.scope) as tx:
        assert len((await agent_profiles.profiles_view(tx))["items"]) == PROFILES + 1


async def test_a_request_that_is_repeated_after_a_deletion_has_its_receipt(plane: Plane) -> None:
    """I2: what was accepted stays accepted, and makes nothing anew."""
    async def acts() -> list[tuple[str | None, bool]]:
        async with plane.database.write(plane.scope) as tx:
            made, row = await agent_profiles.create(tx, "Aide", "Help.", None, write(plane, "make"))
            agent_id = made.subject_id or ""
            changed, new = await agent_profiles.update(tx, agent_id, 1, ProfileChange(name="X"), write(plane, "change"))
            off, ended = await agent_profiles.disable(tx, agent_id, 2, write(plane, "disable"))
            await agent_profiles.delete(tx, agent_id, 3, write(plane, "delete"))
        return [(made.request_id, row is None), (changed.request_id, new is None), (off.request_id, ended is None)]

    names = ["make", "change", "disable"]
    assert await acts() == [(name, False) for name in names]
    assert await acts() == [(name, True) for name in names]
    async with plane.database.read(plane.scope) as tx:
        assert [each["agent_id"] for each in (await agent_profiles.profiles_view(tx))["items"]] == ["twin"]
