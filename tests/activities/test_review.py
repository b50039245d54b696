"""The review between the gate's question and its answer (E8): what follows from each verdict."""

import pytest
from sqlalchemy import select

from activities import review as review_activity
from activities.effects import FileEffectActivities
from domain.gate import Review
from store import effect_views, effects, tasks
from store.effect_rows import effect_row
from store.reviews import store_review
from store.tables_authority import AuditRow
from store.tables_rules import ReviewRow
from tests.activities.conftest import Told
from tests.activities.review_world import ASKED, Reviewer, begun, choose, gated, judged, work
from tests.activities.review_world import obedient as obedient
from tests.activities.review_world import reviewed as reviewed
from tests.effect_world import SCOPE, World, ref
from tests.wide_grants import grant_widely


@pytest.mark.parametrize(
    ("verdict", "state", "audited"),
    [("allow", "claimed", "allow"), ("deny", "refused", "deny"), ("unsure", "waiting_decision", "uncertain")],
)
async def test_the_verdict_decides_what_follows(reviewed: World, verdict: str, state: str, audited: str) -> None:
    """E8: allow needs no card, deny never runs, unsure goes to a person; asked once, kept, in trail and audit."""
    reviewer = Reviewer(verdict)
    effect = await reviewed.proposed(await reviewed.turn(ASKED))
    assert (effect.state, await reviewed.card(effect)) == ("proposed", None)
    assert (await judged(reviewed, effect, reviewer)).state == state
    await work(reviewed, reviewer).review(ref(effect))
    assert len(reviewer.asked) == 1
    assert (await reviewed.card(effect) is None) is (verdict != "unsure")
    assert ("review", verdict) in await reviewed.trail(effect)
    async with reviewed.database.read(SCOPE) as tx:
        [row] = await tx.session.scalars(select(AuditRow).where(AuditRow.kind == "effect.review"))
        kept = await tx.session.get_one(ReviewRow, effect.effect_id)
    assert (row.subject_id, row.verdict, row.action_digest) == (effect.effect_id, audited, effect.action_digest)
    assert kept.reason == "it was asked for"
    if verdict == "deny":
        assert (await reviewed.result(effect))["error"]["code"] == "approval_denied"


@pytest.mark.parametrize("verdict", ["allow", "deny", "unsure"])
async def test_what_the_reviewer_said_is_shown_where_it_counts(reviewed: World, verdict: str) -> None:
    """E8, E9, E20: on the card that its doubt opened and with the effect, as its words, nothing in them hidden."""
    reviewer = Reviewer(verdict, "it is\u202e odd")
    effect = await reviewed.proposed(await reviewed.turn(ASKED))
    await judged(reviewed, effect, reviewer)
    said = {"verdict": verdict, "reason": "it is⟦U+202E⟧ odd"}
    async with reviewed.database.read(SCOPE) as tx:
        shown = await effect_views.effect_view(tx, await effect_row(tx, effect.effect_id))
        cards = (await effect_views.approval_page(tx, None, 10, None))["items"]
        whole = [await effect_views.approval_view(tx, card["approval_id"], details=True) for card in cards]
    assert shown["review"] == said
    assert [card["review"] for card in (*cards, *whole)] == [said] * (2 if verdict == "unsure" else 0)


async def test_the_workflow_is_told_that_a_review_is_due(reviewed: World, obedient: Reviewer) -> None:
    """E8, E18: before the review, and not after it."""
    effect = await reviewed.proposed(await reviewed.turn(ASKED))
    carried = FileEffectActivities(reviewed.database, reviewed.performer, reviewed.locks, Told(), reviewed.limits)
    assert (await carried.status(ref(effect))).review_due
    assert (await gated(reviewed, effect)).review_due
    await work(reviewed, obedient).review(ref(effect))
    assert not (await gated(reviewed, effect)).review_due


async def test_what_was_granted_later_is_reviewed_then(reviewed: World, obedient: Reviewer) -> None:
    """A10, E8: first the authority, then the review; the effect does not wait on as if it still lacked a grant."""
    run = await begun(reviewed, tasks.NewTask("title", ASKED, reviewed.request_id()), granted=False)
    effect = await reviewed.proposed(run)
    assert effect.state == "waiting_authorization"
    async with reviewed.database.write(SCOPE) as tx:
        await grant_widely(tx, await tasks.task_row(tx, run.task_id or ""))
    assert (await gated(reviewed, effect)).review_due
    assert (await judged(reviewed, effect, obedient)).state == "claimed"


async def test_a_review_that_comes_too_late_changes_nothing(reviewed: World, obedient: Reviewer) -> None:
    """E8, I7: a stopped effect has no review, and a second answer does not replace the first."""
    run = await reviewed.turn(ASKED)
    effect, other = await reviewed.proposed(run), await reviewed.proposed(run, number=2, path="b", content="b")
    async with reviewed.database.write(SCOPE) as tx:
        await effects.withdraw(tx, effect.effect_id)
        await store_review(tx, await effect_row(tx, other.effect_id), Review.DENY, "no", "test")
    assert (await judged(reviewed, effect, obedient)).state == "withdrawn"
    assert (await judged(reviewed, other, obedient)).state == "refused"
    assert obedient.asked == []


async def test_without_a_model_a_person_is_asked(reviewed: World) -> None:
    """E8: the offline model judges nothing."""
    effect = await reviewed.proposed(await reviewed.turn(ASKED))
    assert (await judged(reviewed, effect, None)).state == "waiting_decision"


async def test_a_review_whose_process_keeps_dying_is_unsure(
    reviewed: World, obedient: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E8: the work is not held up for ever."""
    monkeypatch.setattr(review_activity, "_tries", lambda: review_activity.TRIES + 1)
    effect = await reviewed.proposed(await reviewed.turn(ASKED))
    assert (await judged(reviewed, effect, obedient)).state == "waiting_decision"
    assert obedient.asked == []


async def test_an_explicit_no_is_kept_and_counts_at_once(reviewed: World, obedient: Reviewer) -> None:
    """E8: switched off, nothing is reviewed, and what a review allowed and has not been done goes to the person."""
    run = await reviewed.turn(ASKED)
    allowed = await reviewed.proposed(run)
    await work(reviewed, obedient).review(ref(allowed))
    await choose(reviewed, auto_review=False)
    await gated(reviewed, allowed)
    assert (await reviewed.reread(allowed)).state == "waiting_decision"
    assert (await reviewed.proposed(run, number=2, path="b", content="b")).state == "waiting_decision"
