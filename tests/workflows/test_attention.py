"""News with real workflows (N3, N8, N10, N13): windows, quiet hours and channels, through relay, server and worker."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import select
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from contracts.names import attention_workflow
from contracts.search_attributes import STATE
from domain.notification import message_at
from domain.user_settings import SettingChanges
from store import attention, push_subscriptions, user_settings
from store.messages import append
from store.tables_attention import AgentProfileRow, AttentionGroupRow
from store.tables_host import ChangeRow, OutboxRow
from tests.conftest import Eventually
from tests.push_service import PushService
from tests.replay.history_files import texts
from tests.replay.turn_scenarios import early_suggestion
from tests.workflows.rig import Rig, steward
from tests.workflows.test_effects_of_runs import delegate

STORM, AGENTS, AT_ONCE = 1_000, 50, 250
"""The whole storm of 10,000 costs half a minute of CPU: `python -m benchmarks attention` lets it loose."""


async def prefer(rig: Rig, **changes: Any) -> None:
    async with rig.parts.database.write(rig.scope) as tx:
        revision = (await user_settings.settings_view(tx))["revision"]
        wanted = SettingChanges.model_validate(changes)
        await user_settings.update(tx, revision, wanted, f"prefer:{revision}", "owner")
    rig.pulse.ring()


async def news(rig: Rig, agent_id: str = "twin") -> None:
    async with rig.parts.database.write(rig.scope) as tx:
        message = await append(tx, rig.session_id, role="assistant", origin="delivery", text="zqprivatezq")
        await attention.admit_event(tx, attention.Event(agent_id, message_at(rig.session_id, message.seq)))
    rig.pulse.ring()


def quiet_now() -> dict[str, object]:
    """Quiet hours that hold now and for at least an hour."""
    now = datetime.now(UTC)
    start, end = now - timedelta(hours=1), now + timedelta(hours=2)
    return {"enabled": True, "timezone": "UTC", "start": f"{start:%H:%M}", "end": f"{end:%H:%M}"}


async def groups(rig: Rig) -> list[AttentionGroupRow]:
    async with rig.parts.database.read(rig.scope) as tx:
        return list(await tx.session.scalars(select(AttentionGroupRow).order_by(AttentionGroupRow.group_id)))


async def states(rig: Rig) -> list[tuple[str, str | None]]:
    return [(row.state, row.reason) for row in await groups(rig)]


async def notices(rig: Rig) -> list[dict[str, Any]]:
    async with rig.parts.database.read(rig.scope) as tx:
        rows = await tx.session.scalars(select(ChangeRow).where(ChangeRow.topic == "notification"))
        return [row.body for row in rows]


def workflow_of(rig: Rig, agent_id: str = "twin") -> WorkflowHandle[Any, Any]:
    return rig.client.get_workflow_handle(attention_workflow(rig.scope.user_space, agent_id))


async def ended(rig: Rig) -> str:
    async with asyncio.timeout(60):
        return str(await workflow_of(rig).result())


async def test_a_window_is_one_notice_and_its_workflow_ends(rig: Rig, eventually: Eventually) -> None:
    """N3, N7, N10: started by the first event, ended with the notice; no text in its history (I9)."""
    await prefer(rig, aggregation_s=2)
    for _ in range(3):
        await news(rig)
    await eventually(lambda: _is(states(rig), [("sent", None)]), "the window is announced")
    [group] = await groups(rig)
    assert group.count == 3
    assert group.closed_at is not None
    assert group.closed_at >= group.deadline
    [notice] = await notices(rig)
    assert notice["locator"]["seq"] == group.seq
    assert await ended(rig) == "done"
    handle = workflow_of(rig)
    description = await handle.describe()
    assert description.typed_search_attributes.get(STATE) == "done"
    history = (await handle.fetch_history()).to_json()
    assert "zqprivatezq" not in history
    assert (await handle.query("state"))["state"] == "idle"


async def _is(answer: Any, expected: object) -> bool:
    return bool(await answer == expected)


async def test_quiet_hours_hold_until_they_are_switched_off(rig: Rig, eventually: Eventually) -> None:
    """N8, N10: a workflow that waits for the morning is told of the choice; then one notice."""
    await prefer(rig, quiet_hours=quiet_now())
    for _ in range(2):
        await news(rig)
    handle = workflow_of(rig)

    async def waits() -> bool:
        [group] = await groups(rig)
        if not group.held or not await runs(handle):
            return False
        state = await handle.query("state")
        return bool(state["state"] == "wait" and state["until"])

    await eventually(waits, "the workflow waits for the end of the quiet hours")
    assert await notices(rig) == []
    await prefer(rig, quiet_hours={"enabled": False})
    await eventually(lambda: _is(states(rig), [("sent", None)]), "what was held is announced")
    assert len(await notices(rig)) == 1
    assert await ended(rig) == "done"


async def runs(handle: WorkflowHandle[Any, Any]) -> bool:
    """Whether the workflow is there and has not ended."""
    try:
        return (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False


async def test_a_delivered_result_reaches_a_browser_and_nobody_reads_it_on_the_way(
    tmp_path: Path, scripted: dict[str, Any], eventually: Eventually
) -> None:
    """N1, N7, N9, I9: from a real task to a decrypted push, by the host's queue; histories hold ids only."""
    with PushService() as service:
        async with steward(tmp_path / "home", **scripted, allow_insecure_push=True) as rig:
            given = service.subscribe()
            async with rig.parts.database.write(rig.scope) as tx:
                await push_subscriptions.register(tx, given.endpoint, given.p256dh, given.auth, "owner")
            script = '[[tool:submit_result {"summary": "zqprivatezq"}]]'
            await rig.send(delegate("Sum", script))
            message = await rig.until_message(origin="delivery")
            await eventually(lambda: bool(service.pushes), "the browser got its push")
            payload = json.loads(service.pushes[0].payload)
            assert payload["locator"] == {"kind": "message", "session_id": rig.session_id, "seq": message["seq"]}
            await eventually(lambda: _is(states(rig), [("sent", None)]), "the group is closed")
            assert await ended(rig) == "done"
            history = json.loads((await workflow_of(rig).fetch_history()).to_json())
            said = " ".join(texts(history))
            assert given.endpoint not in said
            assert "127.0.0.1" not in said


async def test_a_storm_is_one_notice_per_agent_and_window(rig: Rig, eventually: Eventually) -> None:
    """N13: events of 100 agents; bounded signals, bounded history, and never two notices within a window."""
    await prefer(rig, aggregation_s=3)
    agents = [f"agent_{number}" for number in range(AGENTS)]
    async with rig.parts.database.write(rig.scope) as tx:
        tx.session.add_all(
            AgentProfileRow(
                user_space=rig.scope.user_space, domain=rig.scope.domain, agent_id=agent_id, name=agent_id,
                instructions="", revision=1, created_at=tx.now, updated_at=tx.now,
            )
            for agent_id in agents
        )  # fmt: skip
    for start in range(0, STORM, AT_ONCE):
        # Facts come in transactions of their own; many in one cost the test less and make the storm worse.
        async with rig.parts.database.write(rig.scope) as tx:
            message = await append(tx, rig.session_id, role="assistant", origin="delivery", text="zqprivatezq")
            place = message_at(rig.session_id, message.seq)
            for number in range(start, start + AT_ONCE):
                await attention.admit_event(tx, attention.Event(agents[number % AGENTS], place))

    async def settled() -> bool:
        return all(state == "sent" for state, _ in await states(rig))

    await eventually(settled, "every window is announced", within_s=90)
    found = await groups(rig)
    assert sum(row.count for row in found) == STORM
    by_agent = {agent_id: [row for row in found if row.agent_id == agent_id] for agent_id in agents}
    for rows in by_agent.values():
        for earlier, later in pairwise(rows):
            assert later.first_at >= earlier.deadline
    told = await notices(rig)
    assert len(told) == len(found)
    async with rig.parts.database.read(rig.scope) as tx:
        posted = (await tx.session.scalars(select(OutboxRow).where(OutboxRow.kind == "attention.look"))).all()
    assert len(posted) == len(found)
    for agent_id in agents[:10]:
        history = await workflow_of(rig, agent_id).fetch_history()
        assert len(history.events) < 500
        signals = [e for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED]
        assert len(signals) <= len(by_agent[agent_id])


async def test_a_workflow_that_is_told_often_continues_as_new_and_keeps_the_deadline(
    tmp_path: Path, scripted: dict[str, Any], eventually: Eventually
) -> None:
    """N10, N13: signals never hold it up, the deadline is a row, and there is one notice for all its runs."""
    with early_suggestion():
        async with steward(tmp_path / "home", **scripted) as rig:
            await prefer(rig, aggregation_s=6)
            await news(rig)
            [opened] = await groups(rig)
            handle = workflow_of(rig)

            async def continued() -> bool:
                if not await runs(handle):
                    return False
                await handle.signal("look")
                started = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
                return bool(started.continued_execution_run_id)

            await eventually(continued, "the workflow has continued as new")
            await eventually(lambda: _is(states(rig), [("sent", None)]), "the window is announced")
            [group] = await groups(rig)
            assert group.deadline == opened.deadline
            assert len(await notices(rig)) == 1
            assert await ended(rig) == "done"
