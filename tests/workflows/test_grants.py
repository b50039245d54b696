"""Grants with real workflows: a task waits for authority, is allowed, goes on; a grant ends by time or by its owner."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from contracts.names import effect_workflow, grant_workflow
from contracts.search_attributes import STATE
from store import grant_proposals, grants, tasks
from store.grants import Issuer
from store.tables_authority import AuditRow
from store.tables_grants import GrantRow
from tests.conftest import Eventually
from tests.wide_grants import grant_widely
from tests.workflows.rig import Rig, steward
from tests.workflows.test_control import SUBMIT, the_task
from tests.workflows.test_effects_of_runs import delegate, write


@pytest.fixture
async def careful(tmp_path: Path, scripted: dict[str, Any]) -> AsyncIterator[Rig]:
    """A Steward whose owner grants nothing by itself."""
    async with steward(tmp_path / "home", granted=False, **scripted) as running:
        yield running


async def issue(rig: Rig, task_id: str) -> GrantRow:
    """Allow what the task asks for."""
    async with rig.parts.database.write(rig.scope) as tx:
        [proposal] = await grant_proposals.open_proposals(tx, task_id)
        request_id = f"grant:{proposal.proposal_id}"
        grant = (await grants.issue(tx, proposal.proposal_id, None, Issuer(), request_id, "owner"))[1]
    rig.pulse.ring()
    return grant


async def ended(handle: WorkflowHandle[Any, Any]) -> str:
    async with asyncio.timeout(60):
        return str(await handle.result())


async def _is_there(handle: WorkflowHandle[Any, Any]) -> bool:
    try:
        await handle.describe()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True


async def test_a_task_waits_for_authority_and_goes_on_with_it(careful: Rig) -> None:
    """A10: the request arrives as a message; the grant lets the task go on to its card, the card to the file."""
    rig = careful
    await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
    task_id = str((await the_task(rig, title="Write", state="waiting_authorization"))["task_id"])
    request = await rig.until_message(origin="delivery")
    assert request["delivery"]["kind"] == "authorization"
    assert "a.txt" in request["text"]
    grant = await issue(rig, task_id)
    card = await rig.card(task_id=task_id)
    assert not (rig.parts.files.root / "a.txt").exists()
    await rig.decide(card, "allow_once")
    done = await rig.until_task(task_id, "completed")
    assert done["grant"]["ref"] == grant.grant_id
    assert (rig.parts.files.root / "a.txt").read_text() == "hello"
    assert await ended(rig.client.get_workflow_handle(effect_workflow(str(card["effect_id"])))) == "succeeded"


async def test_a_revoked_grant_stops_the_next_effect_and_its_workflow_closes(
    careful: Rig, eventually: Eventually
) -> None:
    """A5, A9, A12: at once for the next effect; the workflow shows counts and how the grant ended, no bounds."""
    rig = careful
    await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
    task_id = str((await the_task(rig, title="Write", state="waiting_authorization"))["task_id"])
    grant = await issue(rig, task_id)
    card = await rig.card(task_id=task_id)
    handle = rig.client.get_workflow_handle(grant_workflow(grant.grant_id))

    async def counted() -> bool:
        state: dict[str, Any] = await handle.query("state")
        return (state["state"], state["actions"], state["resources"]) == ("active", 1, 1)

    await eventually(counted, "the grant's workflow has looked")
    async with rig.parts.database.write(rig.scope) as tx:
        await grants.revoke(tx, grant.grant_id, None, "revoke-1", "owner")
    rig.pulse.ring()
    assert await ended(handle) == "revoked"
    assert (await handle.describe()).typed_search_attributes.get(STATE) == "revoked"
    await rig.decide(card, "allow_once")
    await the_task(rig, task_id=task_id, state="waiting_authorization")
    assert not (rig.parts.files.root / "a.txt").exists()
    await issue(rig, task_id)
    await rig.until_task(task_id, "completed")
    assert (rig.parts.files.root / "a.txt").read_text() == "hello"


async def test_a_grant_expires_by_the_databases_time_and_says_so_once(careful: Rig, eventually: Eventually) -> None:
    """A12, A14: the timer only looks; the expiry is one audit row."""
    rig = careful
    await rig.send(delegate("Wait", "[[hang:30]]"))
    task = await the_task(rig, title="Wait", state="running")
    async with rig.parts.database.write(rig.scope) as tx:
        grant = await grant_widely(tx, await tasks.task_row(tx, str(task["task_id"])))
        grant.expires_at = tx.now + timedelta(seconds=1.5)
    rig.pulse.ring()
    handle = rig.client.get_workflow_handle(grant_workflow(grant.grant_id))
    await eventually(partial(_is_there, handle), "the grant's workflow was started")
    assert await ended(handle) == "expired"
    async with rig.parts.database.read(rig.scope) as tx:
        query = select(AuditRow).where(AuditRow.subject_id == grant.grant_id).order_by(AuditRow.sequence)
        rows = (await tx.session.scalars(query)).all()
    assert [(row.kind, row.verdict) for row in rows] == [("grant.issue", "allow"), ("grant.expire", "expired")]
