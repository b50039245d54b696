"""The gate (E12, I3): the one function that says whether an effect may happen, read from top to bottom.

It is asked when an effect is proposed, before it is claimed, and once more in the transaction that starts it. Whatever
is uncertain is a no; only what is listed as a yes passes.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from domain.approval import ApprovalState
from domain.effect import BEFORE_CLAIM, EffectState
from domain.refusal import Refusal


class Answer(StrEnum):
    """What an authorization provider says (A2); `lacking` is a task that may still be given what it lacks (A10)."""

    ALLOW = "allow"
    LACKING = "lacking"
    DENY = "deny"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Authorization:
    """The authority under which the effect would happen: a turn's foreground admission (A13) or a task's grant (A4)."""

    answer: Answer
    code: str | None = None


class Rule(StrEnum):
    """What the user's rules say about exactly this action (E5): an `ask` rule beats an `allow` rule."""

    NONE = "none"
    ALLOW = "allow"
    ASK = "ask"


class Review(StrEnum):
    """What the automatic review says (E8): `off` where it does not judge this, `due` where it has not judged yet."""

    OFF = "off"
    DUE = "due"
    ALLOW = "allow"
    DENY = "deny"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Card:
    """The newest card of the effect."""

    state: ApprovalState
    action_digest: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GateFacts:
    """Everything that the gate looks at, read in the transaction that acts on its answer.

    Attributes:
        now: the database's time.
        effect: the effect's state.
        action_digest: digest of the action that would happen.
        stopped: a stop covers the effect's turn, its task or an ancestor of it (I3, S1).
        live: the run is the current one: for a task its current requirement version and running attempt, for a turn
            the one whose input was admitted, its continuation included (A13).
        policy: the refusal of the resource or capability policy (E3), None for its yes. `precondition_changed` says
            that the file is no longer what was decided on.
        authorization: the provider's answer.
        rule: what the rules say, read in this transaction.
        review: what the automatic review of this action says.
        card: the newest card, None when none was opened.
    """

    now: datetime
    effect: EffectState
    action_digest: str
    stopped: bool
    live: bool
    policy: Refusal | None
    authorization: Authorization
    rule: Rule
    review: Review
    card: Card | None


class Verdict(StrEnum):
    """What follows: claim it, review it, wait for a person or a grant, refuse or withdraw it; or it is past."""

    CLAIM = "claim"
    REVIEW = "review"
    ASK = "ask"
    LACK_AUTHORIZATION = "lack_authorization"
    REFUSE = "refuse"
    WITHDRAW = "withdraw"
    PAST = "past"


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's answer; `refusal` is set for a refusal, `invalidates` with the reason that voids the card (E10)."""

    verdict: Verdict
    refusal: Refusal | None = None
    invalidates: str | None = None


def decide_gate(facts: GateFacts) -> Decision:
    """Say what follows for an effect that has not been claimed (E12).

    The order is that of the specification: a stop, the run, the resource policy, the authorization (before a person is
    asked, A10), then the decision: a person's where one was asked, else the rules' (E5), the review's (E8), a person's.
    """
    if facts.effect not in BEFORE_CLAIM:
        return Decision(Verdict.PAST)
    if facts.stopped:
        return Decision(Verdict.WITHDRAW)
    if not facts.live:
        return _refused("stale_result", "The work that wanted this has ended or was replaced by newer instructions.")
    if facts.policy is not None:
        return _policy(facts.policy, facts.card)
    if facts.authorization.answer is not Answer.ALLOW:
        return _unauthorized(facts.authorization)
    return _decided_alone(facts) if facts.card is None else _decided(facts, facts.card)


def decide_start(facts: GateFacts, *, claimed_at: datetime, fresh_s: float) -> bool:
    """Whether a claimed effect may start now: its claim is fresh, and the gate would let it through again (E12, I3).

    Args:
        facts: as for the gate, read in the starting transaction.
        claimed_at: when the open claim was written.
        fresh_s: how old a claim may be, in seconds.
    """
    age_s = (facts.now - claimed_at).total_seconds()
    if facts.effect is not EffectState.CLAIMED or not 0.0 <= age_s <= fresh_s:
        return False
    return decide_gate(replace(facts, effect=EffectState.WAITING_DECISION)).verdict is Verdict.CLAIM


def _policy(refusal: Refusal, card: Card | None) -> Decision:
    if refusal.code == "precondition_changed" and card is not None:
        return _refused(
            "approval_invalidated",
            f"{refusal.message} So the decision about it counts no longer.",
            invalidates="precondition_changed",
        )
    return Decision(Verdict.REFUSE, refusal, invalidates=refusal.code)


def _unauthorized(authorization: Authorization) -> Decision:
    if authorization.answer is Answer.LACKING:
        code = authorization.code or "authorization_denied"
        return Decision(Verdict.LACK_AUTHORIZATION, Refusal(code, "This needs a grant that covers it."))
    code = authorization.code or "authorization_uncertain"
    return _refused(code, "There is no valid authorization for this.", invalidates=code)


def _decided_alone(facts: GateFacts) -> Decision:
    # Nobody was asked yet. A rule that appears later never decides a card that waits already (E5).
    if facts.rule is not Rule.NONE:
        return Decision(Verdict.CLAIM if facts.rule is Rule.ALLOW else Verdict.ASK)
    if facts.review is Review.DENY:
        return _refused("approval_denied", "The automatic review denied this. Do not try it in another way; say so.")
    verdicts = {Review.ALLOW: Verdict.CLAIM, Review.DUE: Verdict.REVIEW}
    return Decision(verdicts.get(facts.review, Verdict.ASK))


def _decided(facts: GateFacts, card: Card) -> Decision:
    if card.state is ApprovalState.DENIED:
        return _refused("approval_denied", "The person denied this. Do not try it in another way; say so instead.")
    if card.state is ApprovalState.INVALIDATED or card.action_digest != facts.action_digest:
        return _refused(
            "approval_invalidated",
            "What the decision was about has changed. Propose it again if it is still wanted.",
            invalidates="action_changed",
        )
    # An approval is as short-lived as its card, however long the way from the decision to the gate was (A10).
    if card.state is ApprovalState.EXPIRED or (card.expires_at is not None and facts.now >= card.expires_at):
        return _refused("approval_expired", "Nobody decided in time. Propose it again if it is still wanted.")
    return Decision(Verdict.CLAIM if card.state is ApprovalState.APPROVED else Verdict.ASK)


def _refused(code: str, message: str, *, invalidates: str | None = None) -> Decision:
    return Decision(Verdict.REFUSE, Refusal(code, message), invalidates)
