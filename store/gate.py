"""The gate's transactions (E12, I3): the facts read, the verdict of `domain.gate` carried out, every verdict audited.

One caller's transaction is the boundary: the claim, or the refusal with its audit row, is committed with what it saw.
"""

from dataclasses import dataclass

from domain.approval import ApprovalState
from domain.effect import ClaimState, EffectEvent, EffectState
from domain.gate import Card, Decision, GateFacts, Review, Rule, Verdict, decide_gate, decide_start
from domain.refusal import Refusal
from domain.task import TaskEvent
from domain.tool_policy import built_in_tool_allowed
from store import audit, leases
from store.action_digest import action_digest
from store.authority import LOCALLY, Authority, OutsideAnswer, Standing, ask_for_grant, authority_of
from store.cards import open_card
from store.database import Transaction
from store.effect_ends import close_claim, refuse_effect, withdraw_effect
from store.effect_rows import advance, append_trail, newest_card, open_claim
from store.effect_waiting import begin_waiting
from store.reviews import review_answer
from store.rule_answers import rule_answer
from store.run_standing import RunStanding, run_standing
from store.run_steps import call_row
from store.tables_authority import ClaimRow, EffectRow


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What the gate is configured with.

    Attributes:
        card_expiry_s: seconds after which a hidden task's card expires (E11).
        claim_fresh_s: how old a claim may be when it starts, in seconds (E12).
        authority: the selected provider of unattended authorization (A).
    """

    card_expiry_s: float
    claim_fresh_s: float
    authority: Authority = LOCALLY


@dataclass(frozen=True, slots=True)
class Outside:
    """What was found outside the database just before the transaction.

    Attributes:
        resource: what the resource policy found (E3): None for its yes, `precondition_changed` when the thing is not
            the one that was decided on.
        authority: an external provider's answer (A4); None for a local provider, or where nobody was asked.
    """

    resource: Refusal | None = None
    authority: OutsideAnswer | None = None


NOTHING_OUTSIDE = Outside()


async def pass_gate(tx: Transaction, effect: EffectRow, outside: Outside, limits: GateLimits) -> Decision:
    """Ask the gate about an effect and carry out what it says: claim, review, ask, wait, refuse or withdraw (E12).

    Args:
        tx: the unit of work.
        effect: the effect; one that is claimed already keeps its claim.
        outside: what was looked at just before this transaction.
        limits: what the gate is configured with.
    """
    standing = await run_standing(tx, effect)
    authority = await authority_of(tx, effect, limits.authority, outside.authority)
    facts = await _facts(tx, effect, standing, authority, outside)
    decision = decide_gate(facts)
    if decision.verdict is Verdict.PAST:
        return decision
    await _record(tx, effect, standing, authority, facts, decision)
    if decision.verdict is Verdict.CLAIM:
        await _claim(tx, effect, authority)
    elif decision.verdict is Verdict.ASK:
        await _ask(tx, effect, facts.card, limits)
    elif decision.verdict is Verdict.LACK_AUTHORIZATION:
        if effect.state != EffectState.WAITING_AUTHORIZATION:
            advance(tx, effect, EffectEvent.LACK_AUTHORIZATION)
        await ask_for_grant(tx, effect, limits.authority)
        await begin_waiting(tx, effect, TaskEvent.LACK_AUTHORIZATION)
    elif decision.verdict is Verdict.WITHDRAW:
        await withdraw_effect(tx, effect, "turn_stopped" if effect.task_id is None else "task_stopping")
    elif decision.refusal is not None:
        await refuse_effect(tx, effect, decision.refusal, decision.invalidates)
    return decision


async def start(tx: Transaction, effect: EffectRow, outside: Outside, limits: GateLimits) -> bool:
    """Start a claimed effect if its claim is fresh and the gate would let it through again (E12, I3).

    Otherwise the claim is closed as withdrawn, the effect waits for the gate again under the same approval, and nothing
    has happened. An effect that is not claimed is not started.
    """
    claim = await open_claim(tx, effect.effect_id)
    if claim is None or effect.state != EffectState.CLAIMED:
        return False
    standing = await run_standing(tx, effect)
    authority = await authority_of(tx, effect, limits.authority, outside.authority)
    facts = await _facts(tx, effect, standing, authority, outside)
    may_start = decide_start(facts, claimed_at=claim.claimed_at, fresh_s=limits.claim_fresh_s)
    await _audit(tx, effect, standing, authority, "effect.start", "allow" if may_start else "deny")
    if not may_start:
        await release(tx, effect)
        return False
    claim.state, claim.started_at = ClaimState.STARTED.value, tx.now
    advance(tx, effect, EffectEvent.START)
    await append_trail(tx, effect, "start", "started")
    return True


async def release(tx: Transaction, effect: EffectRow) -> bool:
    """Take back a claim that has not started; False when there is none (E12)."""
    if effect.state != EffectState.CLAIMED:
        return False
    await close_claim(tx, effect, ClaimState.WITHDRAWN)
    advance(tx, effect, EffectEvent.RELEASE)
    await append_trail(tx, effect, "claim", "withdrawn")
    return True


async def _facts(
    tx: Transaction, effect: EffectRow, standing: RunStanding, authority: Standing, outside: Outside
) -> GateFacts:
    # Taken anew from what would be done, so that a row that was tampered with is not what was decided on.
    digest = action_digest(effect.action)
    call = await call_row(tx, effect.run_id, effect.step, effect.place_in_step)
    card = await newest_card(tx, effect.effect_id)
    capability = built_in_tool_allowed(call.name, standing.agent_id, standing.permission_mode)
    return GateFacts(
        now=tx.now,
        effect=EffectState(effect.state),
        action_digest=digest,
        stopped=standing.stopped,
        live=standing.live,
        policy=capability or outside.resource,
        authorization=authority.authorization,
        rule=await rule_answer(tx, effect),
        review=await review_answer(tx, effect, digest),
        card=None if card is None else Card(ApprovalState(card.state), card.action_digest, card.expires_at),
    )


async def _claim(tx: Transaction, effect: EffectRow, authority: Standing) -> None:
    claim_id = tx.new_id("claim")
    tx.session.add(
        ClaimRow(
            claim_id=claim_id, effect_id=effect.effect_id, state=ClaimState.CLAIMED.value, claimed_at=tx.now
        )
    )  # fmt: skip
    await tx.session.flush()
    leases.acquire(tx, effect, claim_id, authority.grant.grant_id if authority.grant is not None else None)
    advance(tx, effect, EffectEvent.CLAIM)
    await append_trail(tx, effect, "lease", "acquired")
    await append_trail(tx, effect, "claim", "claimed")


async def _ask(tx: Transaction, effect: EffectRow, card: Card | None, limits: GateLimits) -> None:
    if effect.state != EffectState.WAITING_DECISION:
        advance(tx, effect, EffectEvent.ASK)
    if card is None:
        await open_card(tx, effect, limits.card_expiry_s)
        await append_trail(tx, effect, "decision", "pending")
    await begin_waiting(tx, effect, TaskEvent.PROPOSE)


async def _record(
    tx: Transaction,
    effect: EffectRow,
    standing: RunStanding,
    authority: Standing,
    facts: GateFacts,
    decision: Decision,
) -> None:
    code = decision.refusal.code if decision.refusal else None
    verdicts = {
        Verdict.CLAIM: "allow", Verdict.ASK: "ask", Verdict.REVIEW: "ask", Verdict.LACK_AUTHORIZATION: "uncertain",
    }  # fmt: skip
    policy, authorization = facts.policy, facts.authorization
    await append_trail(tx, effect, "policy", "allow" if policy is None else "deny", policy.code if policy else None)
    if policy is None:
        await append_trail(tx, effect, "authorization", authorization.answer.value, authorization.code)
    if facts.rule is not Rule.NONE:
        await append_trail(tx, effect, "rule", facts.rule.value)
    if facts.review not in (Review.OFF, Review.DUE):
        await append_trail(tx, effect, "review", facts.review.value)
    await append_trail(tx, effect, "gate", decision.verdict.value, code)
    await _audit(tx, effect, standing, authority, "effect.gate", verdicts.get(decision.verdict, "deny"), code)


async def _audit(
    tx: Transaction,
    effect: EffectRow,
    standing: RunStanding,
    authority: Standing,
    kind: str,
    verdict: str,
    code: str | None = None,
) -> None:
    await audit.record(
        tx, kind, effect.effect_id, verdict,
        principal=standing.principal, code=code, action_digest=effect.action_digest,
        details={} if authority.grant is None else {"grant_ref": authority.grant.grant_id},
    )  # fmt: skip
