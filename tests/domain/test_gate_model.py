"""The gate and all that it asks, against a reference in random worlds (I3, E12): grants, rules, reviews, cards, times.

More worlds than in `make test`: `GATE_WORLDS=100000 .venv/bin/python -m pytest tests/domain/test_gate_model.py`.
"""

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from domain.approval import APPROVAL, ApprovalEvent, ApprovalState, decide
from domain.effect import EffectState
from domain.effect_scope import action_name, resources
from domain.gate import Answer, Authorization, Card, GateFacts, Review, Rule, Verdict, decide_gate, decide_start
from domain.grant import Bounds, Execution, GrantState, Resource, covers, grant_state, narrow
from domain.refusal import Refusal
from domain.review import may_be_reviewed, read_answer
from domain.rule import answer, matches, scope_of
from domain.tool_policy import built_in_tool_allowed
from store.action_digest import action_digest
from tests.domain.gate_model import Grant, ShownCard, World, changed_world, may_happen, random_world

WORLDS = int(os.environ.get("GATE_WORLDS", "12000"))
FRESH_S = 10
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def moment(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def facts_of(world: World) -> GateFacts:
    """What the gate is told of a world, by the product's own rules, as `store.gate` puts them together."""
    digest = action_digest(dict(world.action))
    resource = None if world.resource is None else Refusal(world.resource, "no")
    return GateFacts(
        now=moment(world.now_s),
        effect=EffectState(world.state),
        action_digest=digest,
        stopped=world.stopped,
        live=world.live,
        policy=built_in_tool_allowed("write_file", "twin", world.mode) or resource,
        authorization=authorization(world, digest),
        rule=rule_answer(world),
        review=review_answer(world, digest),
        card=None if world.card is None else card_of(world.card, world.now_s),
    )


def authorization(world: World, digest: str) -> Authorization:
    """A reply acts under its own admission, a task under a grant that is narrowed by each one above it (A13, A15)."""
    if not world.task:
        return Authorization(Answer.ALLOW)
    if not world.chain:
        return Authorization(Answer.LACKING, "authorization_denied")
    now = moment(world.now_s)
    held: Bounds | Refusal = bounds_of(world.chain[0])
    for grant in world.chain[1:]:
        held = held if isinstance(held, Refusal) else narrow(held, bounds_of(grant))
    states = {
        grant_state(bound=True, revoked_at=EPOCH if one.revoked else None, expires_at=moment(one.expires_s), now=now)
        for one in world.chain
    }
    if isinstance(held, Refusal) or states != {GrantState.ACTIVE}:
        return Authorization(Answer.LACKING, "authorization_expired")
    wanted = Execution(
        user_space="local", domain="personal", agent_id="twin", action=action_name(world.kind, world.action),
        resources=resources(world.kind, world.action), model=world.model, engine=world.engine,
        permission_mode=world.mode, action_digest=digest, request_id="request", session_id="session",
    )  # fmt: skip
    refusal = covers(held, wanted, now)
    return Authorization(Answer.ALLOW) if refusal is None else Authorization(Answer.LACKING, refusal.code)


def bounds_of(grant: Grant) -> Bounds:
    issuer, tenant, subject, user_space, domain, agent_id = grant.who
    return Bounds(
        issuer=issuer, tenant=tenant, subject=subject, user_space=user_space, domain=domain, agent_id=agent_id,
        actions=grant.actions, models=grant.models, engines=grant.engines, permission_ceiling=grant.ceiling,
        resources=frozenset(Resource.model_validate({"kind": kind, "value": value}) for kind, value in grant.resources),
        issued_at=EPOCH, expires_at=moment(grant.expires_s),
    )  # fmt: skip


def rule_answer(world: World) -> Rule:
    """Each rule was saved with the scope of the action that it was made from; what no rule covers was not saved."""
    modes = []
    for rule in world.rules:
        scope = scope_of(rule.kind, rule.action)
        if isinstance(scope, Refusal) or not rule.in_force:
            continue
        if rule.kind == "file":
            scope["operations"] = list(rule.operations)
        if matches(scope, world.kind, world.action):
            modes.append(rule.mode)
    return answer(modes)


def review_answer(world: World, digest: str) -> Review:
    """As `store.reviews` reads it from the settings, the reviewer's answer and the trail."""
    if not may_be_reviewed(world.kind, world.action) or not world.auto_review:
        return Review.OFF
    if world.reviewed is None:
        return Review.OFF if world.had_rule else Review.DUE
    about, text, _ = world.reviewed
    return read_answer(text)[0] if action_digest(dict(about)) == digest else Review.UNSURE


def card_of(shown: ShownCard, now_s: int) -> Card:
    """The card after everything that was done to it until now."""
    state, version, digest = ApprovalState.PENDING, 1, action_digest(dict(shown.action))
    expires_at = None if shown.expires_s is None else moment(shown.expires_s)
    for event in shown.events:
        if event.at_s > now_s:
            break
        at = moment(event.at_s)
        if event.what == "invalidate":
            following = APPROVAL.advance(state, ApprovalEvent.INVALIDATE)
        elif event.what == "expire":
            over = expires_at is not None and at >= expires_at
            following = APPROVAL.advance(state, ApprovalEvent.EXPIRE) if over else state
        else:
            following = decide(
                state, ApprovalEvent(event.what), version=version, named_version=event.version, digest=digest,
                named_digest=action_digest(dict(event.action)), expires_at=expires_at, now=at,
            )  # fmt: skip
            version += not isinstance(following, Refusal)
        state = state if isinstance(following, Refusal) else following
    return Card(state, digest, expires_at)


@pytest.mark.timeout(900)
def test_nothing_is_dispatched_but_what_the_reference_allows() -> None:
    """I3, E12: an effect starts exactly if it may be claimed, and may happen still when its fresh claim starts.

    No effect is dispatched that the reference forbids, and none refused that it allows.
    """
    counted: Counter[str] = Counter()
    for seed in range(WORLDS):
        chance = Random(seed)
        before = random_world(chance)
        after = changed_world(chance, before)
        claimed = decide_gate(facts_of(before)).verdict is Verdict.CLAIM
        assert claimed == may_happen(before), (seed, before)
        starting = facts_of(World(**{**vars(after), "state": "claimed"}))
        starts = claimed and decide_start(starting, claimed_at=moment(before.now_s), fresh_s=FRESH_S)
        fresh = 0 <= after.now_s - before.now_s <= FRESH_S
        still = may_happen(World(**{**vars(after), "state": "waiting_decision"}))
        assert starts == (claimed and fresh and still), (seed, before, after)
        counted["dispatched" if starts else "claimed in vain" if claimed else "not claimed"] += 1
    assert min(counted.values()) > WORLDS / 50, counted
    assert len(counted) == 3
