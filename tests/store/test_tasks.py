"""Tasks: recorded before they are acknowledged, ended once with evidence (T1, T2, T5, T6, T10, T14, I1, I2, I7)."""

import asyncio
from typing import Any

import pytest

from domain.refusal import Refused
from domain.run import RunRef
from store import outbox, tasks
from store.database import Database, Transaction
from store.tables_conversation import SessionRow
from store.tables_host import OutboxRow, ReceiptRow
from store.tables_work import AttemptRow, DeliveryRow, EvidenceRow, RequirementRow, TaskRow
from store.tasks import NewTask
from tests.control_plane import Plane


async def accept(plane: Plane, new: NewTask) -> tuple[ReceiptRow, TaskRow]:
    async with plane.database.write(plane.scope) as tx:
        return await tasks.accept_task(tx, new, "owner")


async def test_creation_records_requirement_and_attempt(plane: Plane) -> None:
    """T1, T2: task, requirement 1, attempt 1 with its hidden session and request id, receipt and start: together."""
    new = NewTask("Title", "Do it.", "create", source=(plane.main_session_id, (3, 5)))
    receipt, task = await accept(plane, new)
    requirement = await plane.only(RequirementRow, RequirementRow.task_id == task.task_id)
    attempt = await plane.only(AttemptRow, AttemptRow.task_id == task.task_id)
    session = await plane.only(SessionRow, SessionRow.session_id == attempt.session_id)
    assert (task.title, task.state, task.requirement_version, task.attempt) == ("Title", "accepted", 1, 1)
    assert (task.engine, task.permission_mode, task.agent_id) == ("native", "standard", "twin")
    assert (requirement.version, requirement.instructions) == (1, "Do it.")
    assert (requirement.source_session_id, requirement.source_seqs) == (plane.main_session_id, [3, 5])
    assert (attempt.requirement_version, attempt.attempt, attempt.state) == (1, 1, "running")
    assert attempt.request_id == task.request_id == requirement.request_id == "create"
    assert (session.kind, session.session_id != plane.main_session_id) == ("attempt", True)
    assert (receipt.task_id, receipt.state) == (task.task_id, "done")
    entry = await plane.only(OutboxRow)
    assert (entry.kind, entry.subject_id) == (outbox.TASK_START, task.task_id)


async def test_the_same_creation_twenty_times_at_once(plane: Plane, prepared_url: str) -> None:
    """I2, T1: one task, whoever asks how often over which connection."""
    databases = [Database(prepared_url) for _ in range(20)]
    new = NewTask("Title", "Do it.", "create")

    async def create(database: Database) -> str:
        async with database.write(plane.scope) as tx:
            return (await tasks.accept_task(tx, new, "owner"))[1].task_id

    found = await asyncio.gather(*(create(database) for database in databases))
    await asyncio.gather(*(database.close() for database in databases))
    task = await plane.only(TaskRow)
    assert set(found) == {task.task_id}
    assert len(await plane.rows(AttemptRow, AttemptRow.task_id == task.task_id)) == 1


async def test_another_task_under_the_same_id_is_a_conflict(plane: Plane) -> None:
    """I2: also when the id was an input's."""
    await accept(plane, NewTask("Title", "Do it.", "taken"))
    await plane.send(request_id="sent")
    for new in (NewTask("Title", "Do more.", "taken"), NewTask("Title", "hello", "sent")):
        with pytest.raises(Refused) as refused:
            await accept(plane, new)
        assert refused.value.refusal.code == "request_id_conflict"
    assert len(await plane.rows(TaskRow)) == 1


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("invalid_params", {"title": "x" * 201}),
    ("invalid_params", {"title": " "}),
    ("invalid_params", {"instructions": "x" * 64_001}),
    ("invalid_params", {"instructions": ""}),
    ("invalid_params", {"instructions": "a\x00b"}),
    ("engine_unavailable", {"engine": "codex"}),
    ("invalid_params", {"permission_mode": "unconfined"}),
    ("not_found", {"grant_ref": "grant_1"}),
    ("not_found", {"agent_id": "somebody"}),
    ("not_found", {"attachment_ids": ("att_1",)}),
]


@pytest.mark.parametrize(("code", "choices"), REFUSED, ids=lambda value: str(value)[:40])
async def test_a_refused_task_leaves_nothing_behind(plane: Plane, code: str, choices: dict[str, Any]) -> None:
    """T14, X2, P1: the code says why; no row remains, no hidden session, and the id is free."""
    with pytest.raises(Refused) as refused:
        await accept(plane, NewTask(**({"title": "t", "instructions": "i", "request_id": "r"} | choices)))
    assert refused.value.refusal.code == code
    for table in (TaskRow, ReceiptRow, OutboxRow):
        assert await plane.rows(table) == []
    assert [row.kind for row in await plane.rows(SessionRow)] == ["main"]
    await accept(plane, NewTask("t", "i", "r"))


async def test_beginning_again_changes_nothing(plane: Plane) -> None:
    """T10: a recovered workflow begins the same attempt; its clock does not start anew."""
    run = await plane.attempt()
    first = await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)
    async with plane.database.write(plane.scope) as tx:
        again = await tasks.begin(tx, run.task_id or "")
    assert again.state == "running"
    assert (await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)).started_at == first.started_at
    await plane.succeed(run)
    async with plane.database.write(plane.scope) as tx:
        assert (await tasks.begin(tx, run.task_id or "")).state == "completed"


async def test_completion_has_its_evidence(plane: Plane) -> None:
    """T5, T6: version, attempt, request id and session of the attempt that ended it; the word is `succeeded`."""
    run = await plane.attempt()
    await plane.succeed(run, "the result")
    attempt = await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)
    evidence = await plane.only(EvidenceRow, EvidenceRow.task_id == run.task_id)
    task = await plane.only(TaskRow)
    assert (task.state, task.result_summary, attempt.state) == ("completed", "the result", "succeeded")
    assert attempt.ended_at is not None
    assert (evidence.requirement_version, evidence.attempt, evidence.outcome) == (1, 1, "succeeded")
    assert (evidence.request_id, evidence.session_id) == (attempt.request_id, attempt.session_id)


async def test_no_evidence_without_success(plane: Plane) -> None:
    """T5: a failed attempt leaves its reason, and no evidence."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        await tasks.fail(tx, run, "executor_failed", "the disk is full")
    task = await plane.only(TaskRow)
    assert (task.state, task.reason, task.reason_text) == ("failed", "executor_failed", "the disk is full")
    assert (await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)).reason == "executor_failed"
    assert await plane.rows(EvidenceRow, EvidenceRow.task_id == run.task_id) == []


async def succeed(tx: Transaction, run: RunRef) -> None:
    await tasks.succeed(tx, run, "late", [])


async def fail(tx: Transaction, run: RunRef) -> None:
    await tasks.fail(tx, run, "bounds_exceeded")


@pytest.mark.parametrize("first", [succeed, fail])
@pytest.mark.parametrize("late", [succeed, fail])
async def test_the_first_end_stands(plane: Plane, first: Any, late: Any) -> None:
    """I7, T5: a late result or failure is `stale_result`, and changes nothing."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        await first(tx, run)
    before = await plane.only(TaskRow)
    with pytest.raises(Refused) as refused:
        async with plane.database.write(plane.scope) as tx:
            await late(tx, run)
    assert refused.value.refusal.code == "stale_result"
    after = await plane.only(TaskRow)
    assert (after.state, after.result_summary, after.reason, after.updated_at) == (
        before.state, before.result_summary, before.reason, before.updated_at
    )  # fmt: skip
    assert len(await plane.rows(DeliveryRow)) == 1


@pytest.mark.parametrize(
    "change", [{"requirement_version": 2}, {"attempt": 2}, {"requirement_version": 0}], ids=["version", "attempt", "0"]
)
async def test_a_result_of_another_attempt_is_refused(plane: Plane, change: dict[str, int]) -> None:
    """T5: nobody completes a task with a version or attempt that is not its own."""
    run = await plane.attempt()
    with pytest.raises(Refused) as refused:
        await plane.succeed(run.model_copy(update=change))
    assert refused.value.refusal.code in ("stale_result", "not_found")
    assert (await plane.only(TaskRow)).state == "running"


async def test_a_result_of_an_earlier_attempt_is_stale(plane: Plane) -> None:
    """T5, T11: once a newer version is current, the earlier attempt's result is `stale_result`."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        (await tasks.task_row(tx, run.task_id or "")).requirement_version = 2
    for late in (succeed, fail):
        with pytest.raises(Refused) as refused:
            async with plane.database.write(plane.scope) as tx:
                await late(tx, run)
        assert refused.value.refusal.code == "stale_result"
    assert await plane.rows(EvidenceRow, EvidenceRow.task_id == run.task_id) == []


@pytest.mark.parametrize(
    ("state", "code"),
    [("waiting_user", "question_pending"), ("stopping", "task_stopping"), ("stopped", "stale_result")],
)
async def test_a_result_does_not_pass_a_question_or_a_stop(plane: Plane, state: str, code: str) -> None:
    """T8, S1, I7: the task is not completed around an open question, a stop, or its end."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        (await tasks.task_row(tx, run.task_id or "")).state = state
    with pytest.raises(Refused) as refused:
        await plane.succeed(run)
    assert refused.value.refusal.code == code
    assert (await plane.only(TaskRow)).state == state
    assert await plane.rows(DeliveryRow) == []


async def test_result_and_failure_race_and_one_wins(plane: Plane, prepared_url: str) -> None:
    """S10, I7: submitted at the same moment over two connections: one end, one delivery, evidence only for success."""
    databases = [Database(prepared_url) for _ in range(6)]

    async def end(database: Database, run: RunRef, how: Any) -> str:
        try:
            async with database.write(plane.scope) as tx:
                await how(tx, run)
        except Refused as refused:
            return refused.refusal.code
        return "won"

    for _ in range(3):
        run = await plane.attempt()
        ends = [succeed, fail] * 3
        answers = await asyncio.gather(
            *(end(database, run, how) for database, how in zip(databases, ends, strict=True))
        )
        assert sorted(answers) == ["stale_result"] * 5 + ["won"]
        [delivery] = await plane.rows(DeliveryRow, DeliveryRow.owner_id == run.task_id)
        [task] = await plane.rows(TaskRow, TaskRow.task_id == run.task_id)
        evidence = await plane.rows(EvidenceRow, EvidenceRow.task_id == run.task_id)
        succeeded = ends[answers.index("won")] is succeed
        assert (task.state, delivery.kind, len(evidence)) == (
            ("completed", "result", 1) if succeeded else ("failed", "failure", 0)
        )
    await asyncio.gather(*(database.close() for database in databases))


async def test_foreign_tasks_are_absent(plane: Plane, other: Plane) -> None:
    """P1, I8: another space's task answers like one that never was, to every question, and stays as it is."""
    foreign = await other.attempt()
    never = foreign.model_copy(update={"task_id": "task_never"})
    refusals = []
    for run in (foreign, never):
        for act in (succeed, fail):
            with pytest.raises(Refused) as refused:
                async with plane.database.write(plane.scope) as tx:
                    await act(tx, run)
            refusals.append(refused.value.refusal)
        with pytest.raises(Refused) as refused:
            async with plane.database.write(plane.scope) as tx:
                await tasks.begin(tx, run.task_id or "")
        refusals.append(refused.value.refusal)
    assert len({(refusal.code, refusal.message) for refusal in refusals}) == 1
    assert refusals[0].code == "not_found"
    assert (await other.only(TaskRow)).state == "running"


async def test_attachments_of_a_task_are_kept(plane: Plane) -> None:
    """C9, T2: what a task names is in use from then on, and named in its requirement in order."""
    uploads = [(await plane.upload(f"{number}.txt")).attachment_id for number in range(3)]
    task = await plane.task(attachment_ids=tuple(reversed(uploads)))
    requirement = await plane.only(RequirementRow, RequirementRow.task_id == task.task_id)
    assert requirement.attachment_ids == uploads[::-1]
