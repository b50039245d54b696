"""Whose request an action is judged by (T2, E8): what the person said, never a model's words for it."""

from typing import Any

import pytest

from domain.run import RunRef
from store import resumes, tasks, turns
from store.messages import append
from store.tables_conversation import TurnRow
from tests.activities.review_world import ASKED, MODELS_WORDS, Reviewer, begun, by_model, judged, said, work
from tests.activities.review_world import obedient as obedient
from tests.activities.review_world import reviewed as reviewed
from tests.effect_world import SCOPE, World, ref
from tests.wide_grants import grant_widely


async def asked_by(world: World, reviewer: Reviewer, run: RunRef, number: int = 1) -> str:
    """The request that the reviewer of a new effect of the run was shown; empty when it was not asked."""
    before = len(reviewer.asked)
    effect = await world.proposed(run, number=number, path=f"{number}.txt", content="x")
    await work(world, reviewer).review(ref(effect))
    if len(reviewer.asked) == before:
        return ""
    return reviewer.asked[-1].split("END request")[0]


async def test_a_reply_acts_for_its_input(reviewed: World, obedient: Reviewer) -> None:
    """E8: also after it was parked and goes on under another turn."""
    run = await reviewed.turn(ASKED)
    assert ASKED in await asked_by(reviewed, obedient, run)
    async with reviewed.database.write(SCOPE) as tx:
        turn = await tx.session.get_one(TurnRow, run.turn_id)
        turn.state = "parked"
        await turns.queue_continuation(tx, run_id=run.run_id, effect_id="effect")
    assert ASKED in await asked_by(reviewed, obedient, run, 2)


async def test_a_task_acts_for_what_the_person_said_not_for_how_it_was_passed_on(
    reviewed: World, obedient: Reviewer
) -> None:
    """T2, E8: a delegated task's instructions are a model's words; a sub-task goes back to its root."""
    source = await said(reviewed, ASKED)
    run = await begun(reviewed, by_model(1, source=source))
    shown = await asked_by(reviewed, obedient, run)
    assert ASKED in shown
    assert MODELS_WORDS not in shown
    child = await begun(reviewed, by_model(2, source=source), run)
    shown = await asked_by(reviewed, obedient, child, 4)
    assert ASKED in shown
    assert MODELS_WORDS not in shown


async def test_a_task_that_the_person_made_or_resumed_acts_for_its_instructions(
    reviewed: World, obedient: Reviewer
) -> None:
    """T2, T11: instructions of `agents.tasks.create` and of a resume are the person's; unchanged ones are as before."""
    run = await begun(reviewed, tasks.NewTask("title", "my own instructions", reviewed.request_id()))
    assert "my own instructions" in await asked_by(reviewed, obedient, run)
    delegated = await begun(reviewed, by_model(3, source=await said(reviewed, ASKED)))
    again = await resumed(reviewed, delegated, None)
    shown = await asked_by(reviewed, obedient, again, 2)
    assert ASKED in shown
    assert MODELS_WORDS not in shown
    shown = await asked_by(reviewed, obedient, await resumed(reviewed, again, "and in blue"), 3)
    assert ASKED in shown
    assert "and in blue" in shown
    assert MODELS_WORDS not in shown


async def test_a_firing_acts_for_what_the_owner_wrote_or_said(reviewed: World, obedient: Reviewer) -> None:
    """E8, U1: what the owner wrote into an automation directly, else the messages that it was proposed for."""
    source = await said(reviewed, ASKED)
    for number, (told, shown) in enumerate([(None, MODELS_WORDS), (source, ASKED)], 1):
        fired = tasks.NewTask("title", MODELS_WORDS, f"steward:automation:automation_1:{number}", source=told)
        assert shown in await asked_by(reviewed, obedient, await begun(reviewed, fired, automation_id="automation_1"))
    # The id of another automation, or of none, proves nothing.
    for number, other in enumerate(["automation_2", None], 1):
        foreign = tasks.NewTask("title", MODELS_WORDS, f"steward:automation:automation_1:foreign{number}")
        assert await asked_by(reviewed, obedient, await begun(reviewed, foreign, automation_id=other)) == ""


async def resumed(world: World, run: RunRef, instructions: str | None) -> RunRef:
    """The next requirement version of a task, by its owner; running, with a wide grant."""
    async with world.database.write(SCOPE) as tx:
        await tasks.succeed(tx, run, "done", [])
        wanted = resumes.Resume(run.task_id or "", world.request_id(), instructions)
        _, row = await resumes.resume_task(tx, wanted, "owner")
        await grant_widely(tx, row)
        return tasks.run_of(await tasks.begin(tx, row.task_id))


@pytest.mark.parametrize("source", [None, ("session_none", (1,)), "another_seq", "a_reply"])
async def test_without_a_genuine_request_nobody_is_asked_but_the_person(
    reviewed: World, obedient: Reviewer, source: Any
) -> None:
    """E8: no provenance is unsure, without a model: none recorded, not there, or not the person's own."""
    session_id, (seq,) = await said(reviewed, ASKED)
    if source == "another_seq":
        source = (session_id, (seq, seq + 1))
    elif source == "a_reply":
        source = (session_id, (await reply(reviewed, session_id),))
    run = await begun(reviewed, by_model(4, source=source))
    effect = await reviewed.proposed(run)
    assert (await judged(reviewed, effect, obedient)).state == "waiting_decision"
    assert obedient.asked == []


async def reply(world: World, session_id: str) -> int:
    """A message of the assistant."""
    async with world.database.write(SCOPE) as tx:
        return (await append(tx, session_id, role="assistant", origin="reply", text="allow it")).seq
