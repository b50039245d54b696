"""A whole Steward in one process for workflow tests: real dev server, real SQLite, real relay, scripted models.

Everything is the product's own code in the real sandbox; only the model is scripted (tests/fake_model_server.py) or
the offline one.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from ulid import ULID

from contracts.search_attributes import ALL_KEYS
from domain.approval import ApprovalEvent
from host.automation_care import AutomationCare
from host.live_replies import LiveReplies
from host.pulse import Pulse
from host.relay import Relay
from host.temporal_link import TemporalLink
from runtime.assembly import (
    Parts,
    files_worker,
    firing_rules,
    host_worker,
    open_parts,
    schedule_syncer,
    shared_worker,
    turn_beginner,
)
from runtime.data_converter import DATA_CONVERTER
from runtime.settings_sources import load_settings
from runtime.temporal_binary import SERVER_FLAGS, temporal_binary
from store import effect_views, schema, spaces, views
from store.approvals import CardDecision, decide
from store.commit_watch import CommitWatch
from store.database import Scope
from store.effect_rows import effect_row
from store.recovery import recover
from store.run_steps import call_row
from store.sends import Send, accept_send
from store.tables_host import ReceiptRow
from tests.own_choices import choose
from tests.prepared_file import put_prepared_file
from tests.wide_grants import granted_at_once
from tests.workflows.skipped_time import SkippedTime

POLL_S = 0.1
"""Slow enough not to be the load of what is waited for."""


@dataclass
class Rig:
    """One running Steward without its HTTP side."""

    client: Client
    parts: Parts
    scope: Scope
    session_id: str
    pulse: Pulse
    streamed: list[tuple[str, str | None]]

    async def send(self, text: str, request_id: str | None = None, attachment_ids: tuple[str, ...] = ()) -> ReceiptRow:
        """Send an input as the owner."""
        send = Send(self.session_id, request_id or f"test:{ULID()}", text, attachment_ids)
        async with self.parts.database.write(self.scope) as tx:
            receipt = await accept_send(tx, send, "owner")
        self.pulse.ring()
        return receipt

    async def messages(self) -> list[dict[str, Any]]:
        """All messages of the main conversation."""
        async with self.parts.database.read(self.scope) as tx:
            return (await views.message_views(tx, self.session_id, None, None, 100))[0]

    async def tasks(self) -> list[dict[str, Any]]:
        """All tasks, newest first."""
        async with self.parts.database.read(self.scope) as tx:
            items: list[dict[str, Any]] = (await views.task_page(tx, {}, 100, None))["items"]
            return items

    async def card(self, **wanted: object) -> dict[str, Any]:
        """Wait for a card with these fields; pending unless another state is named."""
        state = str(wanted.pop("state", "pending"))
        for _ in range(600):
            async with self.parts.database.read(self.scope) as tx:
                for card in (await effect_views.approval_page(tx, state, 100, None))["items"]:
                    if all(card.get(key) == value for key, value in wanted.items()):
                        return dict(card)
            await asyncio.sleep(POLL_S)
        raise AssertionError(f"no {state} card with {wanted}")

    async def decide(self, card: dict[str, Any], decision: Literal["allow_once", "deny"]) -> None:
        """Decide a card as the owner."""
        made = CardDecision(
            card["approval_id"], card["version"], card["action_digest"], ApprovalEvent(decision), f"test:{ULID()}"
        )
        async with self.parts.database.write(self.scope) as tx:
            await decide(tx, made, "owner")
        self.pulse.ring()

    async def effect(self, effect_id: str) -> dict[str, Any]:
        """One effect with its trail."""
        async with self.parts.database.read(self.scope) as tx:
            return await effect_views.effect_view(tx, await effect_row(tx, effect_id))

    async def told(self, effect_id: str) -> dict[str, Any]:
        """What the model was told of an effect."""
        async with self.parts.database.read(self.scope) as tx:
            row = await effect_row(tx, effect_id)
            call = await call_row(tx, row.run_id, row.step, row.place_in_step)
        answer: dict[str, Any] = json.loads(call.result or "{}")
        return answer

    async def until_task(self, task_id: str, state: str) -> dict[str, Any]:
        """Wait for a task's state."""
        for _ in range(600):
            for task in await self.tasks():
                if task["task_id"] == task_id and task["state"] == state:
                    return task
            await asyncio.sleep(POLL_S)
        raise AssertionError(f"{task_id} is not {state}: {await self.tasks()}")

    async def until_message(self, **wanted: object) -> dict[str, Any]:
        """Wait for a message with these fields."""
        for _ in range(600):
            for message in await self.messages():
                if all(message.get(key) == value for key, value in wanted.items()):
                    return message
            await asyncio.sleep(POLL_S)
        raise AssertionError(f"no message with {wanted}; there are {await self.messages()}")


@asynccontextmanager
async def steward(
    home: Path,
    *,
    granted: bool = True,
    reviewed: bool = False,
    skipped_time: SkippedTime | None = None,
    **settings: object,
) -> AsyncIterator[Rig]:
    """Run one Steward on a dev server of its own, or on one that skips time and by its clock.

    Its owner grants everything at once and has turned the automatic review off, unless a test is about these.
    """
    loaded = load_settings({"home": home, "user_space": "local", "product_domain": "personal", **settings})
    async with AsyncExitStack() as stack:
        if granted:
            stack.enter_context(granted_at_once())
        client = skipped_time.client if skipped_time else await _dev_server(stack)
        loaded.state_dir.mkdir(parents=True, exist_ok=True)
        if loaded.database_url is None:
            await put_prepared_file(loaded.state_dir / "steward.sqlite")
        parts = await stack.enter_async_context(open_parts(loaded))
        if skipped_time:
            parts.database.clock = skipped_time.clock
        await schema.prepare(parts.database)
        scope = Scope(loaded.user_space, loaded.product_domain)
        async with parts.database.write(scope) as tx:
            session_id = (await spaces.open_space(tx, "test")).main_session_id
            if not reviewed:
                await choose(tx, auto_review=False)
            await recover(tx)
        streamed: list[tuple[str, str | None]] = []
        live = LiveReplies(lambda turn_id, text: streamed.append((turn_id, text)))
        pulse = Pulse()

        async def connect() -> Client:
            return client

        link = TemporalLink(loaded, connect)
        await link.run()
        relay = Relay(
            parts.database, scope, pulse, link, loaded.max_open_tasks, turn_beginner(parts), schedule_syncer(parts)
        )
        await stack.enter_async_context(shared_worker(client, parts, SandboxedWorkflowRunner()))
        await stack.enter_async_context(files_worker(client, parts))
        await stack.enter_async_context(host_worker(client, parts, live))
        care = AutomationCare(parts.database, scope, firing_rules(loaded))
        for work in (relay.run(), pulse.run(CommitWatch(parts.database)), care.run()):
            stack.push_async_callback(_cancel, asyncio.create_task(work))
        yield Rig(client, parts, scope, session_id, pulse, streamed)


async def _dev_server(stack: AsyncExitStack) -> Client:
    environment = await WorkflowEnvironment.start_local(
        data_converter=DATA_CONVERTER,
        search_attributes=list(ALL_KEYS),
        dev_server_existing_path=str(temporal_binary()),
        dev_server_extra_args=list(SERVER_FLAGS),
        dev_server_log_level="error",
    )
    return (await stack.enter_async_context(environment)).client


async def _cancel(task: "asyncio.Task[Any]") -> None:
    if task.done():
        task.result()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
