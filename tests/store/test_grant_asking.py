"""Asking what would have to be granted (A11), on both databases: one proposal per request, whatever becomes of it."""

import pytest

from domain.refusal import Refused
from store import automation_edits, grant_asking, grants
from store.authority import LOCALLY
from store.grant_asking import Wanted
from store.grants import Issuer
from store.tables_grants import GrantProposalRow
from store.tables_host import ReceiptRow
from tests.automation_owner import by, made
from tests.control_plane import Plane

TEXT = Wanted(proposal_text="Write out/a.md")


async def ask(plane: Plane, wanted: Wanted, request_id: str | None = None) -> GrantProposalRow:
    async with plane.database.write(plane.scope) as tx:
        asked = await grant_asking.propose(
            tx, wanted, LOCALLY, "/files", request_id or plane.request_id(), "owner"
        )  # fmt: skip
    return asked[1]


async def test_a_text_is_proposed_once_for_its_request(plane: Plane) -> None:
    """I1, I2, A11: the same request is the same row; another request of the same text is a proposal of its own."""
    first = await ask(plane, TEXT, "ask-1")
    assert (await ask(plane, TEXT, "ask-1")).proposal_id == first.proposal_id
    assert [row.proposal_id for row in await plane.rows(GrantProposalRow)] == [first.proposal_id]
    with pytest.raises(Refused, match="request_id_conflict"):
        await ask(plane, Wanted(proposal_text="Write out/b.md"), "ask-1")
    assert (await ask(plane, TEXT, "ask-2")).proposal_id != first.proposal_id
    [receipt] = await plane.rows(ReceiptRow, ReceiptRow.request_id == "ask-1")
    assert (receipt.method, receipt.subject_id, receipt.state) == (grant_asking.PROPOSE, first.proposal_id, "done")


async def test_a_repeated_request_reads_its_proposal_also_when_it_is_closed(plane: Plane) -> None:
    """I2: issued or superseded meanwhile, it is still what became of that request; nothing new is asked by it."""
    task = await plane.task()
    of_task = Wanted(task_id=task.task_id)
    asked = await ask(plane, of_task, "ask-task")
    assert (await ask(plane, of_task)).proposal_id == asked.proposal_id, "an open one is returned to every request"
    async with plane.database.write(plane.scope) as tx:
        await grants.issue(tx, asked.proposal_id, None, Issuer(), plane.request_id(), "owner")
    again = await ask(plane, of_task, "ask-task")
    assert (again.proposal_id, again.state) == (asked.proposal_id, "issued")
    row = await made(plane)
    of_automation = Wanted(automation_id=row.automation_id)
    asked = await ask(plane, of_automation, "ask-automation")
    async with plane.database.write(plane.scope) as tx:
        await automation_edits.update(tx, row.automation_id, 1, {"instructions": "other work"}, None, by(plane))
    again = await ask(plane, of_automation, "ask-automation")
    assert (again.proposal_id, again.reason) == (asked.proposal_id, "newer_requirement")
    assert (await ask(plane, of_automation)).proposal_id != asked.proposal_id


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (Wanted(), "invalid_params"),
        (Wanted(task_id="task_none", proposal_text="x"), "invalid_params"),
        (Wanted(proposal_text=" "), "invalid_params"),
        (Wanted(task_id="task_none"), "not_found"),
        (Wanted(automation_id="automation_none"), "not_found"),
    ],
)
async def test_what_is_refused_leaves_no_receipt(plane: Plane, wanted: Wanted, code: str) -> None:
    """api.md: refused at once, so that the request id is free for what was meant."""
    with pytest.raises(Refused, match=code):
        await ask(plane, wanted, "ask-1")
    await ask(plane, TEXT, "ask-1")


async def test_another_space_is_not_found(plane: Plane, other: Plane) -> None:
    """I8, P1: neither its task, nor what was asked under the same request id."""
    task = await plane.task()
    await ask(plane, TEXT, "ask-1")
    with pytest.raises(Refused, match="not_found"):
        await ask(other, Wanted(task_id=task.task_id))
    await ask(other, Wanted(proposal_text="Write out/b.md"), "ask-1")
