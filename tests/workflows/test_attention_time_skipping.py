"""News with skipped time (N2-N5, N8-N10, N12): whole windows, nights over a change of the clocks, an hour of trying.

Real workflows in the real sandbox on a real server, real rows; only the waiting is skipped (skipped_time.py).
"""

import asyncio
import json
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select
from temporalio.client import WorkflowHandle
from ulid import ULID

from contracts.names import attention_workflow
from domain.user_settings import SettingChanges
from domain.wall_time import wall_time
from store import agent_profiles, push_subscriptions, seen, user_settings
from store.agent_profiles import Write
from store.tables_attention import AttentionGroupRow, AttentionSendRow
from store.tables_host import ChangeRow
from tests.conftest import Eventually
from tests.push_service import Answer, PushService
from tests.workflows.rig import Rig
from tests.workflows.skipped_time import SkippedTime, next_change
from tests.workflows.test_attention import news, runs
from tests.workflows.test_control import ask, open_question, stop, until_done
from tests.workflows.test_effects_of_runs import delegate

pytestmark = pytest.mark.time_skipping

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = {"enabled": True, "timezone": "Europe/Berlin", "start": "22:00", "end": "07:00"}
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
WINDOW = 5 * MINUTE


class Desk:
    """What one agent has to say, in a Steward whose time is skipped."""

    def __init__(self, rig: Rig, skipped: SkippedTime, agent_id: str) -> None:
        self.rig, self.skipped, self.agent_id = rig, skipped, agent_id

    @property
    def workflow(self) -> WorkflowHandle[Any, Any]:
        """The workflow of the agent's news."""
        return self.rig.client.get_workflow_handle(attention_workflow(self.rig.scope.user_space, self.agent_id))

    async def prefer(self, **changes: Any) -> None:
        """Change the person's settings."""
        async with self.rig.parts.database.write(self.rig.scope) as tx:
            revision = (await user_settings.settings_view(tx))["revision"]
            wanted = SettingChanges.model_validate(changes)
            await user_settings.update(tx, revision, wanted, f"prefer:{ULID()}", "owner")
        self.rig.pulse.ring()

    async def news(self) -> None:
        """Something new of the agent."""
        await news(self.rig, self.agent_id)

    async def skip_to(self, moment: datetime) -> None:
        """Let the time until this moment go by, with all that the agent's workflow does meanwhile."""
        await Eventually()(self._waits, "the workflow waits")
        await self.skipped.skip_to(self.workflow, moment)

    async def _waits(self) -> bool:
        group = await self.newest_group()
        if group is None or group.closed_at is not None:
            return False
        return await runs(self.workflow) and bool((await self.workflow.query("state"))["state"] == "wait")

    async def newest_group(self) -> AttentionGroupRow | None:
        """The agent's newest group."""
        query = select(AttentionGroupRow).where(AttentionGroupRow.agent_id == self.agent_id)
        async with self.rig.parts.database.read(self.rig.scope) as tx:
            return (await tx.session.scalars(query.order_by(AttentionGroupRow.group_id.desc()))).first()

    async def group(self) -> AttentionGroupRow:
        """The one group there is."""
        query = select(AttentionGroupRow).where(AttentionGroupRow.agent_id == self.agent_id)
        async with self.rig.parts.database.read(self.rig.scope) as tx:
            return (await tx.session.scalars(query)).one()

    async def until_closed(self) -> AttentionGroupRow:
        """Wait until the workflow has ended; the one group there is."""
        async with asyncio.timeout(60):
            assert await self.workflow.result() == "done"
        return await self.group()

    async def notices(self) -> int:
        """How often the page was told of the agent's news."""
        async with self.rig.parts.database.read(self.rig.scope) as tx:
            rows = await tx.session.scalars(select(ChangeRow).where(ChangeRow.topic == "notification"))
            return sum(row.body["agent_id"] == self.agent_id for row in rows)


@pytest.fixture
async def desk(skipping: tuple[Rig, SkippedTime]) -> Desk:
    """A new agent, and nothing preferred."""
    rig, skipped = skipping
    async with rig.parts.database.write(rig.scope) as tx:
        write = Write(f"agent:{ULID()}", "owner", "fake-model")
        _, made = await agent_profiles.create(tx, "Aide", "", None, write)
        assert made is not None
        agent_id = made.agent_id
    desk = Desk(rig, skipped, agent_id)
    await desk.prefer(notifications={"enabled": True}, quiet_hours={"enabled": False}, aggregation_s=0)
    return desk


async def test_a_window_of_five_minutes_is_one_notice_at_its_end(desk: Desk) -> None:
    """N3, N5, N7, N10: later events join and never extend it, a changed length is for the next one; then it ends."""
    await desk.prefer(aggregation_s=300)
    await desk.news()
    opened = await desk.group()
    assert opened.deadline == opened.first_at + WINDOW
    for joined, minutes in enumerate((1, 2, 3), start=1):
        await desk.skip_to(opened.first_at + minutes * MINUTE)
        await desk.news()
        await desk.prefer(aggregation_s=minutes)
        group = await desk.group()
        assert (group.state, group.count, group.deadline) == ("open", 1 + joined, opened.deadline)
        assert await desk.notices() == 0
    await desk.skip_to(opened.deadline + MINUTE)
    closed = await desk.until_closed()
    assert (closed.state, closed.count) == ("sent", 4)
    assert closed.closed_at is not None
    assert closed.closed_at >= opened.deadline
    assert await desk.notices() == 1


@pytest.mark.parametrize(("shorter", "hours"), [(True, 8), (False, 10)], ids=["spring", "autumn"])
async def test_a_night_over_a_change_of_the_clocks_ends_at_seven_on_the_wall(
    desk: Desk, shorter: bool, hours: int
) -> None:
    """N2, N8, N10: what comes at any hour of it waits in one group, and is one notice when the wall shows 07:00."""
    change = next_change(BERLIN, desk.skipped.clock() + DAY, shorter=shorter)
    evening = datetime.combine(wall_time(BERLIN, change).date() - DAY, time(22), BERLIN).astimezone(UTC)
    morning = evening + hours * HOUR
    assert wall_time(BERLIN, morning).time() == time(7)
    await desk.prefer(quiet_hours=NIGHT, aggregation_s=300)
    desk.skipped.clock.reach(evening + MINUTE)
    await desk.news()
    opened = await desk.group()
    assert (opened.held, opened.deadline) == (True, morning)
    for moment in (change - 30 * MINUTE, change + 30 * MINUTE, change + 90 * MINUTE, morning - 30 * MINUTE):
        await desk.skip_to(moment)
        await desk.news()
        group = await desk.group()
        assert (group.state, group.held, group.deadline) == ("open", True, morning)
        assert await desk.notices() == 0
    await desk.skip_to(morning + MINUTE)
    closed = await desk.until_closed()
    assert (closed.state, closed.count) == ("sent", 5)
    assert closed.closed_at is not None
    assert closed.closed_at >= morning
    assert await desk.notices() == 1


@pytest.mark.parametrize("quiet", [False, True], ids=["window", "night"])
async def test_an_owner_disabled_while_news_waits_says_nothing(desk: Desk, quiet: bool) -> None:
    """N4, N12: the whole group is dropped at its deadline, and the drop is recorded."""
    if quiet:
        desk.skipped.clock.reach(next_change(BERLIN, desk.skipped.clock(), shorter=True))
        await desk.prefer(quiet_hours=NIGHT)
    else:
        await desk.prefer(aggregation_s=300)
    await desk.news()
    opened = await desk.group()
    assert opened.held is quiet
    await desk.skip_to(opened.first_at + 2 * MINUTE)
    await desk.news()
    async with desk.rig.parts.database.write(desk.rig.scope) as tx:
        write = Write(f"disable:{ULID()}", "owner", "fake-model")
        await agent_profiles.disable(tx, desk.agent_id, 1, write)
    desk.rig.pulse.ring()
    await desk.skip_to(opened.deadline + MINUTE)
    closed = await desk.until_closed()
    assert (closed.state, closed.reason, closed.count) == ("dropped", "agent_disabled", 2)
    assert await desk.notices() == 0


async def test_notifications_switched_off_for_an_agent_stop_an_open_window(desk: Desk) -> None:
    """N2, N4, N12: the policy of the deadline counts, not that of the event."""
    await desk.prefer(aggregation_s=300)
    await desk.news()
    opened = await desk.group()
    await desk.prefer(notifications={"agents": {desk.agent_id: False}})
    await desk.skip_to(opened.deadline + MINUTE)
    closed = await desk.until_closed()
    assert (closed.state, closed.reason) == ("dropped", "notifications_off")
    assert await desk.notices() == 0


async def test_what_was_seen_within_the_window_is_not_announced(desk: Desk) -> None:
    """N2, N4: a page showed the message in a focused window before the deadline."""
    await desk.prefer(aggregation_s=300)
    await desk.news()
    opened = await desk.group()
    await desk.skip_to(opened.first_at + 2 * MINUTE)
    async with desk.rig.parts.database.write(desk.rig.scope) as tx:
        await seen.note(tx, desk.rig.session_id, opened.seq or 0)
    await desk.skip_to(opened.deadline + MINUTE)
    closed = await desk.until_closed()
    assert (closed.state, closed.reason) == ("dropped", "seen")
    assert await desk.notices() == 0


async def test_a_question_withdrawn_before_the_deadline_is_not_announced(desk: Desk) -> None:
    """N1, N4: a real task asks, is stopped within the window, and the place of its news has no news any more."""
    twin = Desk(desk.rig, desk.skipped, "twin")
    await desk.prefer(aggregation_s=300)
    await desk.rig.send(delegate("Ask", ask("Which month?")))
    question = await open_question(desk.rig)
    await Eventually()(lambda: _is_open(twin), "the question's message opened a window")
    opened = await twin.group()
    await twin.skip_to(opened.first_at + 2 * MINUTE)
    intent = await stop(desk.rig, str(question["task_id"]))
    assert (await until_done(desk.rig, intent))["outcome"] == "stopped"
    assert await twin.notices() == 0
    await twin.skip_to(opened.deadline + MINUTE)
    closed = await twin.until_closed()
    assert (closed.state, closed.reason, closed.count) == ("dropped", "question_closed", 1)
    assert await twin.notices() == 0


async def _is_open(desk: Desk) -> bool:
    return await desk.newest_group() is not None


async def test_a_channel_that_stays_away_is_tried_for_an_hour_and_given_up(desk: Desk) -> None:
    """N9, N10: ever less often, each time as one generic push; the failure is recorded and the notice stands."""
    with PushService() as service:
        service.answer_with(Answer(503))
        given = service.subscribe()
        async with desk.rig.parts.database.write(desk.rig.scope) as tx:
            device = await push_subscriptions.register(tx, given.endpoint, given.p256dh, given.auth, "owner")
        try:
            await desk.news()
            assert await desk.notices() == 1
            await desk.skip_to(desk.skipped.clock() + 30 * MINUTE)
            tried = len(service.pushes)
            assert tried >= 3
            assert (await desk.group()).state == "due"
            await desk.skip_to(desk.skipped.clock() + HOUR)
            closed = await desk.until_closed()
        finally:
            async with desk.rig.parts.database.write(desk.rig.scope) as tx:
                await push_subscriptions.unregister(tx, device.subscription_id, "owner", is_owner=True)
        assert closed.state == "sent"
        async with desk.rig.parts.database.read(desk.rig.scope) as tx:
            send = await tx.session.get_one(AttentionSendRow, (closed.group_id, device.subscription_id))
        assert (send.state, send.reason) == ("failed", "gave_up")
        assert send.ended_at is not None
        assert len(service.pushes) == send.tries > tried
        assert {json.loads(push.payload)["group_id"] for push in service.pushes} == {closed.group_id}
