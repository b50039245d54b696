"""Acts of attention on a real control plane, as tests need them: settings, news, looks, sends."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import update

from domain.notification import Locator, message_at
from domain.user_settings import SettingChanges
from store import agent_profiles, attention, attention_looks, notification_channels, push_subscriptions, user_settings
from store.agent_profiles import Write
from store.attention_looks import Standing
from store.messages import append
from store.tables_attention import AgentProfileRow, AttentionGroupRow, AttentionSendRow, PushSubscriptionRow
from store.tables_host import ChangeRow, OutboxRow
from tests.control_plane import Plane


async def prefer(plane: Plane, **changes: Any) -> None:
    """Change the person's settings."""
    async with plane.database.write(plane.scope) as tx:
        revision = (await user_settings.settings_view(tx))["revision"]
        wanted = SettingChanges.model_validate(changes)
        await user_settings.update(tx, revision, wanted, plane.request_id(), "owner")


async def agent(plane: Plane, name: str = "Aide", instructions: str = "") -> str:
    """An agent of the person; its id."""
    async with plane.database.write(plane.scope) as tx:
        write = Write(plane.request_id(), "owner", "offline")
        _, made = await agent_profiles.create(tx, name, instructions, None, write)
        assert made is not None
        return made.agent_id


async def many_agents(plane: Plane, count: int) -> list[str]:
    """Agents of the person, by their rows; their ids."""
    async with plane.database.write(plane.scope) as tx:
        rows = [
            AgentProfileRow(
                user_space=plane.scope.user_space, domain=plane.scope.domain, agent_id=tx.new_id("agent"),
                name=f"Agent {number}", instructions="", revision=1, created_at=tx.now, updated_at=tx.now,
            )
            for number in range(count)
        ]  # fmt: skip
        tx.session.add_all(rows)
    return [row.agent_id for row in rows]


async def open_windows(plane: Plane, count: int) -> None:
    """Windows of this many other agents, by their rows."""
    async with plane.database.write(plane.scope) as tx:
        tx.session.add_all(
            AttentionGroupRow(
                group_id=tx.new_id("group"), user_space=plane.scope.user_space, domain=plane.scope.domain,
                agent_id=f"agent_{number}", state="open", aggregated=True, held=False, count=1, generation=1,
                locator_kind="card", card_id="approval_1", deadline=tx.now + timedelta(minutes=1), first_at=tx.now,
                newest_at=tx.now,
            )
            for number in range(count)
        )  # fmt: skip


async def news(plane: Plane, agent_id: str = "twin") -> Locator:
    """A message of the main conversation, announced as an agent's news in the transaction that stores it."""
    async with plane.database.write(plane.scope) as tx:
        message = await append(tx, plane.main_session_id, role="assistant", origin="delivery", text="private words")
        place = message_at(plane.main_session_id, message.seq)
        await attention.admit_event(tx, attention.Event(agent_id, place))
    return place


async def look(plane: Plane, agent_id: str = "twin") -> Standing:
    """What the agent's workflow does when it looks."""
    async with plane.database.write(plane.scope) as tx:
        return await attention_looks.look(tx, agent_id)


async def groups(plane: Plane, agent_id: str = "twin") -> Sequence[AttentionGroupRow]:
    """The groups of an agent, oldest first."""
    return await plane.rows(AttentionGroupRow, AttentionGroupRow.agent_id == agent_id)


async def make_due(plane: Plane, agent_id: str = "twin") -> None:
    """Let the open group's deadline pass, by the row."""
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            update(AttentionGroupRow)
            .where(
                AttentionGroupRow.user_space == plane.scope.user_space,
                AttentionGroupRow.agent_id == agent_id,
                AttentionGroupRow.state == "open",
            )
            .values(deadline=tx.now - timedelta(seconds=1))
        )


async def make_sends_due(plane: Plane) -> None:
    """Let what is pending be due now, by the rows."""
    ids = [group.group_id for group in await plane.rows(AttentionGroupRow)]
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            update(AttentionSendRow)
            .where(AttentionSendRow.group_id.in_(ids), AttentionSendRow.state == "pending")
            .values(due_at=tx.now - timedelta(seconds=1))
        )


async def rested(plane: Plane) -> None:
    """Let half a minute pass for every device, by the rows."""
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            update(PushSubscriptionRow)
            .where(PushSubscriptionRow.user_space == plane.scope.user_space)
            .values(last_sent_at=tx.now - timedelta(seconds=31))
        )


async def sends(plane: Plane) -> list[AttentionSendRow]:
    """All sends of the space, in the order of their groups."""
    ids = [group.group_id for group in await plane.rows(AttentionGroupRow)]
    return list(await plane.rows(AttentionSendRow, AttentionSendRow.group_id.in_(ids)))


async def device(plane: Plane, endpoint: str = "https://push.example.com/1", principal: str = "owner") -> str:
    """A registered browser; its subscription id."""
    async with plane.database.write(plane.scope) as tx:
        return (await push_subscriptions.register(tx, endpoint, "key", "auth", principal)).subscription_id


async def channel(plane: Plane, channel_id: str) -> None:
    """A configured Apprise channel beside the present ones."""
    async with plane.database.write(plane.scope) as tx:
        kept = [row.channel_id for row in await notification_channels.active(tx)]
        await notification_channels.replace(tx, kept, [(channel_id, "apprise", "json://…")])


async def notices(plane: Plane) -> list[dict[str, Any]]:
    """What the page was told of news."""
    return [row.body for row in await plane.rows(ChangeRow, ChangeRow.topic == "notification")]


async def posted(plane: Plane) -> list[str]:
    """The agents whose workflows were to be told, in order."""
    return [row.subject_id for row in await plane.rows(OutboxRow, OutboxRow.kind == "attention.look")]
