"""`agents.approvals.list|get|decide`, `agents.effects.list|settle`: cards and effects (E9, E10, E13, E20).

Every credential this host accepts is its owner's own or that of one of the owner's devices, and the host is bound to
one user space: so whoever gets here may decide this space's cards and no others (E10, H20).
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from domain.approval import ApprovalEvent, ApprovalState
from domain.effect import EffectState
from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import DEFAULT_PAGE, Cursor, Id, Limit, Params, Sequence
from host.services import Services
from store import approvals, effect_views, effects, views
from store.approvals import CardDecision

NOTE_CHARACTERS = 2000


class ApprovalList(Params):
    """`agents.approvals.list`."""

    state: Annotated[ApprovalState, Field(strict=False)] | None = None
    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class ApprovalOnly(Params):
    """`agents.approvals.get`."""

    approval_id: Id


class ApprovalDecide(Params):
    """`agents.approvals.decide`: names exactly what was shown (E10)."""

    approval_id: Id
    version: Sequence
    action_digest: Id
    decision: Literal["allow_once", "deny"]


class EffectList(Params):
    """`agents.effects.list`."""

    task_id: Id | None = None
    turn_id: Id | None = None
    state: Annotated[EffectState, Field(strict=False)] | None = None
    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class EffectSettle(Params):
    """`agents.effects.settle`: what the owner found out."""

    effect_id: Id
    outcome: Literal["succeeded", "failed"]
    note: Annotated[str, StringConstraints(max_length=NOTE_CHARACTERS)]


async def list_approvals(services: Services, call: Call[ApprovalList]) -> Result:
    """A page of cards, newest first."""
    wanted = call.params
    async with services.reading() as tx:
        return await effect_views.approval_page(
            tx, None if wanted.state is None else wanted.state.value, wanted.limit, wanted.cursor
        )


async def get_approval(services: Services, call: Call[ApprovalOnly]) -> Result:
    """One card with its diff (E9)."""
    async with services.reading() as tx:
        return await effect_views.approval_view(tx, call.params.approval_id, details=True)


async def decide(services: Services, call: Call[ApprovalDecide]) -> Result:
    """Decide a card, once, on exactly what was shown (E10)."""
    wanted = call.params
    made = CardDecision(
        approval_id=wanted.approval_id,
        version=wanted.version,
        action_digest=wanted.action_digest,
        decision=ApprovalEvent(wanted.decision),
        request_id=call.write_id,
    )
    async with services.admission(call) as tx:
        receipt, card = await approvals.decide(tx, made, call.principal.id)
        answer = {
            "receipt": views.receipt_view(receipt),
            "approval": await effect_views.approval_view(tx, card.approval_id),
        }
    return answer


async def list_effects(services: Services, call: Call[EffectList]) -> Result:
    """A page of effects with their whole trail, newest first (E20)."""
    wanted = call.params
    async with services.reading() as tx:
        return await effect_views.effect_page(
            tx,
            wanted.limit,
            wanted.cursor,
            task_id=wanted.task_id,
            turn_id=wanted.turn_id,
            state=None if wanted.state is None else wanted.state.value,
        )


async def settle(services: Services, call: Call[EffectSettle]) -> Result:
    """Settle an unknown effect as the owner found it to be (E13)."""
    wanted = call.params
    async with services.admission(call) as tx:
        effect = await effects.settle_by_owner(
            tx, wanted.effect_id, wanted.outcome, wanted.note, call.write_id, call.principal.id
        )
        answer = await effect_views.effect_view(tx, effect)
    return answer


METHODS: Mapping[str, Method] = {
    "agents.approvals.list": Method(list_approvals, ApprovalList),
    "agents.approvals.get": Method(get_approval, ApprovalOnly),
    "agents.approvals.decide": Method(decide, ApprovalDecide, writes=True),
    "agents.effects.list": Method(list_effects, EffectList),
    "agents.effects.settle": Method(settle, EffectSettle, writes=True, local=True),
}
