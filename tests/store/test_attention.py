"""News from the fact to the notice (N1-N8, N12, N13): groups are rows, admitted with their fact, decided when due."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, event, update

from domain.attention import OPEN_GROUPS
from domain.notification import message_at
from domain.refusal import Refused
from store import agent_profiles, attention, attention_ends, attention_waking, seen
from store.agent_profiles import Write
from store.deliveries import delivery_row
from store.figures import figures
from store.tables_attention import AttentionGroupRow, AttentionSendRow, SeenRow
from store.tables_authority import ApprovalRow
from store.tables_conversation import MessageRow
from store.turns import turn_run
from tests.attention_acts import (
    agent,
    device,
    groups,
    look,
    make_due,
    many_agents,
    news,
    notices,
    open_windows,
    posted,
    prefer,
    sends,
)
from tests.control_acts import asked, settled
from tests.control_plane import Plane
from tests.store.news_admitter import ADMITTED, INSIDE


def quiet_now() -> dict[str, object]:
    """Quiet hours that hold now and for at least an hour."""
    now = datetime.now(UTC)
    start, end = now - timedelta(hours=1), now + timedelta(hours=2)
    return {"enabled": True, "timezone": "UTC", "start": f"{start:%H:%M}", "end": f"{end:%H:%M}"}


async def test_a_delivered_result_is_news_and_a_reply_is_not(plane: Plane) -> None:
    """N1, N7: the delivery asks, in the transaction that stores its message; a reply to the person asks for nothing."""
    await plane.complete(await plane.turn())
    assert await groups(plane) == []
    done = await plane.complete(await plane.delivery_turn())
    [group] = await groups(plane)
    assert (group.state, group.count, group.locator_kind, group.seq) == ("sent", 1, "message", done.message_seq)
    assert await notices(plane) == [
        {
            "group_id": group.group_id, "agent_id": "twin",
            "locator": {"kind": "message", "session_id": plane.main_session_id, "seq": done.message_seq},
        }
    ]  # fmt: skip
    assert await posted(plane) == [], "without channels outside of the page no workflow is needed"


async def test_a_tasks_card_is_news_and_the_conversations_own_is_not(plane: Plane) -> None:
    """N1: a hidden task's card has nobody in front of it."""
    await plane.card(await plane.turn("write"))
    assert await groups(plane) == []
    await plane.card(await plane.attempt())
    [group] = await groups(plane)
    card = (await plane.rows(ApprovalRow))[-1]
    assert (group.locator_kind, group.card_id, group.session_id, group.seq) == ("card", card.approval_id, None, None)


async def test_a_question_is_announced_once_and_not_after_its_answer(plane: Plane) -> None:
    """N1, N4: by the message that brings it; answered within the window it is dropped, and that is recorded."""
    await prefer(plane, aggregation_s=60)
    question = await asked(plane, await plane.attempt(), "March", "April")
    assert await groups(plane) == []
    async with plane.database.read(plane.scope) as tx:
        delivery = await delivery_row(tx, question.delivery_id or "")
    await plane.submit(delivery)
    begun = await plane.next_turn()
    assert begun is not None
    await plane.complete(turn_run(begun))
    [group] = await groups(plane)
    assert (group.state, group.count) == ("open", 1)
    await settled(plane, question, option_id="option_1")
    await make_due(plane)
    assert (await look(plane)).state == "idle"
    [group] = await groups(plane)
    assert (group.state, group.reason) == ("dropped", "question_closed")
    assert await notices(plane) == []


async def test_a_window_is_fixed_by_its_first_event(plane: Plane) -> None:
    """N3, N5, N7, N13: later events join the row alone; one notice names the newest place; W may change meanwhile."""
    await prefer(plane, aggregation_s=60)
    await news(plane)
    [first] = await groups(plane)
    await prefer(plane, aggregation_s=900)
    await news(plane)
    newest = await news(plane)
    [group] = await groups(plane)
    assert (group.deadline, group.count, group.generation) == (first.deadline, 3, 3)
    assert await posted(plane) == ["twin"]
    standing = await look(plane)
    assert (standing.state, standing.until, standing.count, standing.locator) == ("wait", first.deadline, 3, "message")
    assert await notices(plane) == []
    await make_due(plane)
    assert (await look(plane)).state == "idle"
    [notice] = await notices(plane)
    assert notice["locator"]["seq"] == newest.seq
    await news(plane)
    assert [row.state for row in await groups(plane)] == ["sent", "open"]


async def test_no_window_concerns_new_events_only(plane: Plane) -> None:
    """N5: with W at 0 the next event is announced at once, and the open window keeps its deadline and its news."""
    await prefer(plane, aggregation_s=60)
    await news(plane)
    await prefer(plane, aggregation_s=0)
    await news(plane)
    assert [(row.state, row.count) for row in await groups(plane)] == [("open", 1), ("sent", 1)]
    assert len(await notices(plane)) == 1
    await make_due(plane)
    await look(plane)
    assert len(await notices(plane)) == 2


async def test_quiet_hours_hold_news_and_release_it_once(plane: Plane) -> None:
    """N8: one group per agent, also with W at 0, looked at when quiet hours are switched off."""
    await prefer(plane, quiet_hours=quiet_now())
    for _ in range(3):
        await news(plane)
    [group] = await groups(plane)
    assert (group.state, group.held, group.aggregated, group.count) == ("open", True, False, 3)
    assert group.deadline - group.first_at > timedelta(minutes=59)
    assert (await look(plane)).until == group.deadline
    assert await posted(plane) == ["twin"]
    await prefer(plane, quiet_hours={"enabled": False})
    assert await posted(plane) == ["twin", "twin"]
    assert (await look(plane)).state == "idle"
    assert len(await notices(plane)) == 1


async def test_quiet_hours_that_begin_inside_of_a_window_hold_it(plane: Plane) -> None:
    """N2, N8: the policy of the deadline decides."""
    await prefer(plane, aggregation_s=60)
    await news(plane)
    await prefer(plane, quiet_hours=quiet_now())
    await make_due(plane)
    standing = await look(plane)
    [group] = await groups(plane)
    assert (group.state, group.held) == ("open", True)
    assert standing.until == group.deadline
    assert group.deadline - group.first_at > timedelta(minutes=59)


@pytest.mark.parametrize(
    ("switched_off", "reason"),
    [
        ({"enabled": False}, "notifications_off"),
        ({"agents": {"twin": False}}, "notifications_off"),
    ],
)
async def test_switching_off_stops_late_notifications(
    plane: Plane, switched_off: dict[str, object], reason: str
) -> None:
    """N12: also those in a window; and what comes while it is off is not kept."""
    await prefer(plane, aggregation_s=60)
    await news(plane)
    await prefer(plane, notifications=switched_off)
    await news(plane)
    await make_due(plane)
    assert (await look(plane)).state == "idle"
    [group] = await groups(plane)
    assert (group.state, group.reason, group.count) == ("dropped", reason, 1)
    assert await notices(plane) == []


async def test_a_disabled_or_deleted_agent_says_nothing_late(plane: Plane) -> None:
    """N12, N4: the owner is gone, so is its news; another agent's goes on."""
    await prefer(plane, aggregation_s=60)
    one, two = await agent(plane, "One"), await agent(plane, "Two")
    for agent_id in (one, two, "twin"):
        await news(plane, agent_id)
    async with plane.database.write(plane.scope) as tx:
        await agent_profiles.disable(tx, one, 1, Write("disable", "owner", "offline"))
        await agent_profiles.delete(tx, two, 1, Write("delete", "owner", "offline"))
    for agent_id in (one, two, "twin"):
        await make_due(plane, agent_id)
        await look(plane, agent_id)
    states = [(await groups(plane, agent_id))[0] for agent_id in (one, two, "twin")]
    assert [(row.state, row.reason) for row in states] == [
        ("dropped", "agent_disabled"), ("dropped", "agent_disabled"), ("sent", None),
    ]  # fmt: skip
    await news(plane, one)
    assert len(await groups(plane, one)) == 1


async def test_what_was_seen_is_not_announced(plane: Plane) -> None:
    """N2: the newest place decides; a card that is decided has no news either."""
    await prefer(plane, aggregation_s=60)
    await news(plane)
    newest = await news(plane)
    async with plane.database.write(plane.scope) as tx:
        assert await seen.note(tx, plane.main_session_id, newest.seq or 0) == newest.seq
        assert await seen.note(tx, plane.main_session_id, 1) == newest.seq, "it never goes back"
    await make_due(plane)
    await look(plane)
    [group] = await groups(plane)
    assert (group.state, group.reason) == ("dropped", "seen")
    await plane.card(await plane.attempt())
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            update(ApprovalRow).where(ApprovalRow.user_space == plane.scope.user_space).values(state="denied")
        )
    await make_due(plane)
    await look(plane)
    assert [(row.state, row.reason) for row in await groups(plane)][1] == ("dropped", "card_settled")


async def test_a_place_that_is_gone_drops_the_whole_group(plane: Plane, other: Plane) -> None:
    """N4: conservatively; a place of another space is none."""
    await prefer(plane, aggregation_s=60)
    await news(plane)
    place = await news(plane)
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            delete(MessageRow).where(MessageRow.session_id == place.session_id, MessageRow.seq == place.seq)
        )
    await make_due(plane)
    await look(plane)
    assert [(row.state, row.reason) for row in await groups(plane)] == [("dropped", "message_gone")]
    foreign = await news(other)
    async with plane.database.write(plane.scope) as tx:
        await attention.admit_event(tx, attention.Event("twin", foreign))
    await make_due(plane)
    await look(plane)
    assert [(row.state, row.reason) for row in await groups(plane)][1] == ("dropped", "foreign")


async def test_the_129th_agent_is_announced_at_once(plane: Plane) -> None:
    """N6: counted by rows in the admitting transaction, and in a metric; who has a window keeps it."""
    await prefer(plane, aggregation_s=60)
    agents = await many_agents(plane, 3)
    await open_windows(plane, OPEN_GROUPS - 2)
    for agent_id in agents:
        await news(plane, agent_id)
    await news(plane, agents[0])
    rows = await plane.rows(AttentionGroupRow)
    assert sum(row.state == "open" for row in rows) == OPEN_GROUPS
    [beyond] = await groups(plane, agents[-1])
    assert (beyond.state, beyond.aggregated, beyond.reason) == ("sent", False, "unaggregated")
    assert [notice["agent_id"] for notice in await notices(plane)] == [agents[-1]]
    async with plane.database.read(plane.scope) as tx:
        read = await figures(tx)
    assert (read.unaggregated, read.attention) == (1, {"open": OPEN_GROUPS, "sent": 1})
    await make_due(plane, agents[0])
    await look(plane, agents[0])
    await news(plane, agents[-1])
    assert [row.state for row in await groups(plane, agents[-1])] == ["sent", "open"]


async def test_an_event_that_joins_costs_one_read_and_one_write(plane: Plane) -> None:
    """N13: whatever the person has chosen; no entry of the outbox, no object of the session."""
    await prefer(plane, aggregation_s=60, quiet_hours={"enabled": False, "timezone": "Europe/Berlin"})
    agent_id = await agent(plane)
    place = await news(plane, agent_id)
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement.split()[0])

    async with plane.database.write(plane.scope) as tx:
        event.listen(plane.database.engine.sync_engine, "before_cursor_execute", note)
        try:
            await attention.admit_event(tx, attention.Event(agent_id, place))
            await tx.session.flush()
        finally:
            event.remove(plane.database.engine.sync_engine, "before_cursor_execute", note)
        assert not tx.session.identity_map
    assert statements == ["SELECT", "UPDATE"]
    assert [row.count for row in await groups(plane, agent_id)] == [2]


async def test_an_event_joins_past_what_its_session_holds(plane: Plane) -> None:
    """N3: a group that was opened in the same transaction is counted on, and decided as it is stored."""
    await prefer(plane, aggregation_s=60)
    async with plane.database.write(plane.scope) as tx:
        for seq in (1, 2, 3):
            await attention.admit_event(tx, attention.Event("twin", message_at(plane.main_session_id, seq)))
        found = await attention.open_group(tx, "twin")
        assert found is not None
        assert (found.count, found.seq) == (3, 3)
    [group] = await groups(plane)
    assert (group.count, group.generation, group.seq) == (3, 3, 3)


async def test_two_events_at_once_are_one_group(plane: Plane) -> None:
    """N3, N6: writers of a space follow each other, so the second finds the group of the first."""
    await prefer(plane, aggregation_s=60)
    await asyncio.gather(*(news(plane) for _ in range(8)))
    [group] = await groups(plane)
    assert group.count == 8
    assert await posted(plane) == ["twin"]


async def test_a_kill_between_events_of_one_commit_loses_no_acknowledged_one(
    plane: Plane, prepared_url: str, repository: Path
) -> None:
    """I1, N3, N13: events admitted at once may share a commit; each is there as a whole, and is if that was said."""
    await prefer(plane, aggregation_s=60)
    agents = await many_agents(plane, 4)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.store.news_admitter", prepared_url, plane.scope.user_space, plane.main_session_id,
        *agents, cwd=repository, stdout=PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    said: list[str] = []
    while INSIDE not in said:
        line = await process.stdout.readline()
        assert line, "it ended by itself"
        said.append(line.decode().strip())
    process.kill()
    said += (await process.stdout.read()).decode().splitlines()
    assert await process.wait() == -signal.SIGKILL
    acknowledged = [line.removeprefix(f"{ADMITTED} ") for line in said if line.startswith(ADMITTED)]
    there = [row.agent_id for row in await plane.rows(AttentionGroupRow)]
    assert set(acknowledged) <= set(there) < set(agents)
    assert sorted(await posted(plane)) == sorted(there)
    assert len(await plane.messages()) == len(there)
    for agent_id in agents:
        await news(plane, agent_id)
    assert [row.count for agent_id in agents for row in await groups(plane, agent_id)] == [
        2 if agent_id in there else 1 for agent_id in agents
    ]


async def test_a_storm_without_windows_wakes_a_workflow_once(plane: Plane) -> None:
    """N13: what is announced at once has sends; who looks anyway at their time is not told of each."""
    await device(plane)
    for _ in range(5):
        await news(plane)
    assert len(await notices(plane)) == 5
    assert await posted(plane) == ["twin"]
    assert [send.state for send in await sends(plane)] == ["pending"] * 5


async def test_a_start_has_everything_looked_at_that_is_not_settled(plane: Plane) -> None:
    """N10: also when Temporal has lost its workflows."""
    other = await agent(plane)
    await device(plane)
    await news(plane)
    await prefer(plane, aggregation_s=60)
    await news(plane, other)
    async with plane.database.write(plane.scope) as tx:
        await attention_waking.look_at_all(tx)
    assert sorted(await posted(plane)) == sorted([other, other, "twin", "twin"])


async def test_news_is_forgotten_after_a_month(plane: Plane) -> None:
    """N10: rows of what was announced are no archive."""
    await device(plane)
    await news(plane)
    async with plane.database.write(plane.scope) as tx:
        mine = AttentionGroupRow.user_space == plane.scope.user_space
        values = {"state": "sent", "closed_at": tx.now - timedelta(days=31)}
        await tx.session.execute(update(AttentionGroupRow).where(mine).values(**values))
    await news(plane)
    async with plane.database.write(plane.scope) as tx:
        await attention_ends.prune(tx)
    assert len(await groups(plane)) == 1
    assert len(await sends(plane)) == 1


async def test_nobody_sees_what_is_not_there(plane: Plane) -> None:
    """N2, H6: another session is refused, and so is a sequence beyond the newest."""
    for session_id, seq in (("session_other", 1), (plane.main_session_id, 1)):
        with pytest.raises(Refused) as refused:
            async with plane.database.write(plane.scope) as tx:
                await seen.note(tx, session_id, seq)
        assert refused.value.refusal.code in ("session_mismatch", "invalid_params")
    assert await plane.rows(SeenRow, SeenRow.session_id == plane.main_session_id) == []
    assert await plane.rows(AttentionSendRow, AttentionSendRow.group_id == "none") == []
