"""Explicit resume: a new requirement version beside the old ones, which stay as they were (T11, T12, I2, I5)."""

from typing import Any

import pytest

from domain.effect import EffectEvent
from store import outbox, run_reading
from store.database import Transaction
from store.effect_ends import UNKNOWN
from store.effect_rows import advance, effect_row
from store.effects import settle
from store.relay_queue import admit
from store.tables_conversation import SessionRow
from store.tables_host import OutboxRow
from store.tables_work import AttemptRow, EvidenceRow, RequirementRow, TaskRow
from store.turns import turn_run
from tests.control_acts import (
    asked,
    begun,
    code_of,
    delegated,
    deliveries_of,
    failed,
    finished,
    let_go,
    resumed,
    stopped,
    task_of,
    turn_failed,
    within,
)
from tests.control_plane import Plane


@pytest.mark.parametrize("end", ["completed", "failed", "stopped"])
async def test_an_ended_task_begins_a_new_requirement(plane: Plane, end: str) -> None:
    """T11: version +1, attempt 1, a new session and request id; it has to be admitted again; the old ones stay."""
    run = await plane.attempt(source=(plane.main_session_id, (4,)))
    await within(plane, lambda tx: admit(tx, [run.task_id or ""]))
    if end == "completed":
        await plane.succeed(run)
    elif end == "failed":
        await failed(plane, run)
    else:
        intent = await stopped(plane, run.task_id)
        await let_go(plane, run)
        await finished(plane, intent)
    task = await resumed(plane, run.task_id, "resume", instructions="Try it differently.")
    assert (task.state, task.requirement_version, task.attempt) == ("accepted", 2, 1)
    assert (task.reason, task.result_summary, task.progress, task.admitted_at) == (None, None, None, None)
    first, second = await plane.rows(AttemptRow, AttemptRow.task_id == run.task_id)
    assert (first.state, second.state) == ("succeeded" if end == "completed" else end, "running")
    assert (second.requirement_version, second.attempt, second.request_id) == (2, 1, "resume")
    assert first.session_id != second.session_id
    assert len(await plane.rows(SessionRow, SessionRow.kind == "attempt")) == 2
    before, now = await plane.rows(RequirementRow, RequirementRow.task_id == run.task_id)
    assert (before.instructions, now.instructions) == ("instructions", "Try it differently.")
    assert (now.source_session_id, now.source_seqs) == (plane.main_session_id, [4])
    starts = await plane.rows(OutboxRow, OutboxRow.kind == outbox.TASK_START)
    assert [entry.subject_id for entry in starts] == [run.task_id, run.task_id]


async def test_without_new_instructions_the_same_is_tried_again(plane: Plane) -> None:
    """T11: instructions, source and attachments are those of the version before."""
    upload = await plane.upload()
    run = await plane.attempt(instructions="Do it.", attachment_ids=(upload.attachment_id,))
    await failed(plane, run)
    await resumed(plane, run.task_id)
    requirement = await plane.only(RequirementRow, RequirementRow.version == 2, RequirementRow.task_id == run.task_id)
    assert (requirement.instructions, requirement.attachment_ids) == ("Do it.", [upload.attachment_id])


async def test_the_same_resume_is_accepted_once(plane: Plane) -> None:
    """I2: also after the new version has ended; other content under the id is a conflict."""
    run = await plane.attempt()
    await failed(plane, run)
    await resumed(plane, run.task_id, "resume")
    await failed(plane, await begun(plane, run.task_id))
    assert (await resumed(plane, run.task_id, "resume")).requirement_version == 2
    assert await code_of(resumed(plane, run.task_id, "resume", instructions="More.")) == "request_id_conflict"
    assert (await resumed(plane, run.task_id, "resume-again")).requirement_version == 3


async def test_a_task_that_has_not_ended_is_not_resumed(plane: Plane) -> None:
    """T11: `task_active`, and `intent_active` while a stop is unsettled."""
    task = await plane.task()
    assert await code_of(resumed(plane, task.task_id)) == "task_active"
    run = await begun(plane, task.task_id)
    assert await code_of(resumed(plane, task.task_id)) == "task_active"
    await asked(plane, run)
    assert await code_of(resumed(plane, task.task_id)) == "task_active"
    intent = await stopped(plane, task.task_id)
    assert await code_of(resumed(plane, task.task_id)) == "intent_active"
    await let_go(plane, run)
    assert await code_of(resumed(plane, task.task_id)) == "intent_active"
    await finished(plane, intent)
    assert (await resumed(plane, task.task_id)).requirement_version == 2
    assert (await stopped(plane, task.task_id)).intent_id != intent.intent_id


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"engine": "codex"}, "engine_unavailable"),
    ({"permission_mode": "unconfined"}, "invalid_params"),
    ({"grant_ref": "grant_1"}, "not_found"),
    ({"instructions": "x" * 64_001}, "invalid_params"),
    ({"instructions": " "}, "invalid_params"),
]


@pytest.mark.parametrize(("wanted", "code"), REFUSED)
async def test_a_refused_resume_changes_nothing(plane: Plane, wanted: dict[str, Any], code: str) -> None:
    """T11, T14: the version stays, and the request id is free."""
    run = await plane.attempt()
    await failed(plane, run)
    assert await code_of(resumed(plane, run.task_id, "resume", **wanted)) == code
    task = await plane.only(TaskRow)
    assert (task.state, task.requirement_version, task.engine, task.permission_mode) == (
        "failed",
        1,
        "native",
        "standard",
    )
    assert (await resumed(plane, run.task_id, "resume", permission_mode="read_only")).permission_mode == "read_only"


async def test_a_sub_task_is_resumed_with_its_parent_only(plane: Plane) -> None:
    """T13: it belongs to its parent's attempt."""
    child = await begun(plane, (await delegated(plane, await plane.attempt())).task_id)
    await failed(plane, child)
    assert await code_of(resumed(plane, child.task_id)) == "task_active"


async def test_results_of_an_earlier_requirement_are_stale(plane: Plane) -> None:
    """T5, T11, I7: whatever the old attempt still says is refused."""
    run = await plane.attempt()
    await failed(plane, run)
    await resumed(plane, run.task_id)
    second = await begun(plane, run.task_id)
    assert await code_of(plane.succeed(run)) == "stale_result"
    assert await code_of(failed(plane, run)) == "stale_result"
    assert (await plane.follows(run)).kind == "ended"
    assert (await task_of(plane, run.task_id)).state == "running"
    await plane.succeed(second)


async def test_evidence_and_deliveries_of_both_versions_stay_apart(plane: Plane) -> None:
    """T11, D7, I5: the old result goes out naming its version, before the new one; each once."""
    run = await plane.attempt()
    await plane.succeed(run, "the first result")
    await resumed(plane, run.task_id)
    await plane.succeed(await begun(plane, run.task_id), "the second result")
    for delivery in await deliveries_of(plane, run.task_id):
        await plane.submit(delivery)
    for version, words in ((1, "the first result"), (2, "the second result")):
        turn = await plane.next_turn()
        assert turn is not None
        async with plane.database.read(plane.scope) as tx:
            fact = await run_reading.delivered_fact(tx, turn.delivery_id or "")
        assert (fact.requirement_version, fact.body) == (version, words)
        await plane.step(turn_run(turn), words)
        await plane.complete(turn_run(turn))
    rows = await deliveries_of(plane, run.task_id)
    assert [(row.requirement_version, row.state) for row in rows] == [(1, "delivered"), (2, "delivered")]
    evidence = await plane.rows(EvidenceRow, EvidenceRow.task_id == run.task_id)
    assert [(row.requirement_version, row.summary) for row in evidence] == [
        (1, "the first result"),
        (2, "the second result"),
    ]


async def test_a_failed_delivery_of_an_earlier_version_stays_failed(plane: Plane) -> None:
    """T11, D2: a resume settles nothing that was settled."""
    turn = await plane.delivery_turn()
    await turn_failed(plane, turn)
    task = await plane.only(TaskRow)
    await resumed(plane, task.task_id)
    assert [row.state for row in await deliveries_of(plane, task.task_id)] == ["failed"]


async def test_unknown_effects_of_earlier_attempts_are_counted_before_new_ones(plane: Plane) -> None:
    """T12: the new attempt is told how many there are."""
    run = await plane.attempt()
    effect_id = await plane.card(run)

    async def lose(tx: Transaction) -> None:
        effect = await effect_row(tx, effect_id)
        advance(tx, effect, EffectEvent.CLAIM)
        advance(tx, effect, EffectEvent.START)
        await settle(tx, effect_id, UNKNOWN)

    await within(plane, lose)
    await failed(plane, run)
    await resumed(plane, run.task_id)
    second = await begun(plane, run.task_id)
    async with plane.database.read(plane.scope) as tx:
        assert await run_reading.unknown_effects_before(tx, second) == 1
        assert await run_reading.unknown_effects_before(tx, run) == 0
