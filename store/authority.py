"""Under which authority an effect would happen (A4, A10, A13): asked in the gate's transaction, never remembered.

A reply of the main conversation acts under the admission of its input. A task acts under a grant: its own, or a
narrowing of its parent's. For an external provider the answer that was fetched just before counts as well, if it is
fresh; the local state of the grant is read here in any case.
"""

from dataclasses import dataclass
from datetime import datetime

from domain.effect_scope import action_name, resources
from domain.gate import Answer, Authorization
from domain.grant import Bounds, Execution, GrantState, covers
from domain.grant_bounds import Owner
from domain.refusal import Refusal, refuse
from store import grant_rows, grants
from store.automation_grants import covering_grant
from store.database import Transaction
from store.grant_proposals import request_for_effect
from store.tables_authority import EffectRow
from store.tables_grants import GrantRow
from store.tables_work import AttemptRow, TaskRow

FRESH_S = 5.0
"""How old an external provider's answer may be, counted from the start of its request, in seconds (A4)."""
LOCAL = grants.LOCAL
LOCAL_OWNER = Owner(issuer="steward", tenant="local", subject="owner")
"""Who grants with the native provider: whoever holds the installation's owner credential (A7)."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Which provider of `execution.authorization@1` the host is configured with, and what grants are narrowed by.

    Attributes:
        provider: its name; one that is not in `known` is missing (A6), whatever else is installed.
        known: the providers that this host can ask.
        complete: the provider has `acquire` and `release`; without them it is refused as unsupported (A2).
        owner: issuer, tenant and subject of admissions on this host.
        model: the model that tasks run with.
    """

    provider: str = LOCAL
    known: frozenset[str] = frozenset({LOCAL})
    complete: bool = True
    owner: Owner = LOCAL_OWNER
    model: str = "offline"

    def check(self) -> None:
        """See that the selected provider can be asked at all; no other one steps in (A6).

        Raises:
            Refused: `authorization_provider_missing` or `authorization_contract_unsupported`.
        """
        code = self.unusable()
        if code is not None:
            raise refuse(code, f"The authorization provider {self.provider!r} cannot be used. Check the settings.")

    def unusable(self) -> str | None:
        """The code of why the provider cannot be asked, None when it can."""
        if self.provider not in self.known:
            return "authorization_provider_missing"
        return None if self.complete else "authorization_contract_unsupported"

    @property
    def is_outside(self) -> bool:
        """Whether an answer from outside the database is needed for each effect of a task (A4)."""
        return self.provider != LOCAL and self.unusable() is None


LOCALLY = Authority()
"""The native provider."""


@dataclass(frozen=True, slots=True)
class OutsideAnswer:
    """What an external provider said about a grant's account: `code` names a no; `asked_at` by the database's clock."""

    grant_id: str
    answer: Answer
    code: str | None
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """The authority's answer with the grant it rests on; None for a reply's own admission."""

    authorization: Authorization
    grant: GrantRow | None = None


async def authority_of(
    tx: Transaction, effect: EffectRow, authority: Authority, outside: OutsideAnswer | None
) -> Standing:
    """Say under which authority an effect would happen now; anything that is not a clear yes is a no (A4, A6)."""
    if effect.task_id is None:
        return Standing(Authorization(Answer.ALLOW))
    unusable = authority.unusable()
    if unusable is not None:
        return Standing(Authorization(Answer.DENY, unusable))
    task = await tx.session.get_one(TaskRow, effect.task_id)
    execution = await execution_of(tx, effect, authority.model)
    grant, code = await held_grant(tx, task, authority.provider, execution)
    if grant is None:
        return Standing(Authorization(Answer.LACKING, code))
    refusal = _refusal(tx, grant, execution)
    if refusal is not None:
        return Standing(Authorization(Answer.LACKING, refusal.code), grant)
    if authority.provider != LOCAL:
        return Standing(_outside(tx, grant, outside), grant)
    return Standing(Authorization(Answer.ALLOW), grant)


async def held_grant(tx: Transaction, task: TaskRow, provider: str, wanted: Execution) -> tuple[GrantRow | None, str]:
    """The grant a task would do this under, or why it has none: one of its own for these instructions, else a derived.

    A task may hold several, one for each request (A10): any that covers the effect will do, and a newer one takes
    nothing away. Where none covers it the newest is returned, so that the caller says what it lacks.
    """
    held = [grant for grant in await grant_rows.grants_of(tx, task.task_id) if grant.provider == provider]
    current = [grant for grant in held if grant.requirement_version == task.requirement_version]
    active = [grant for grant in current if await _is_active(tx, grant)]
    for grant in active:
        if _refusal(tx, grant, wanted) is None:
            return grant, ""
    parent = await tx.session.get(TaskRow, task.parent_task_id) if task.parent_task_id is not None else None
    if parent is not None and parent.requirement_version == task.parent_requirement_version:
        above, _ = await held_grant(tx, parent, provider, wanted)
        if above is not None and (not active or _refusal(tx, above, wanted) is None):
            return await grants.derive(tx, above, task), ""
    of_binding = await covering_grant(tx, task, provider, wanted)
    if of_binding is not None:
        return await grants.derive(tx, of_binding, task), ""
    if active:
        return active[0], ""
    if current:
        return None, f"authorization_{await _ended_as(tx, current[0])}"
    return None, "authorization_requirement_mismatch" if held else "authorization_denied"


async def execution_of(tx: Transaction, effect: EffectRow, model: str) -> Execution:
    """One effect of a task in the terms of a grant (A2)."""
    task = await tx.session.get_one(TaskRow, effect.task_id)
    attempt = await tx.session.get_one(AttemptRow, (effect.task_id, effect.requirement_version, effect.attempt))
    return Execution(
        user_space=task.user_space,
        domain=task.domain,
        agent_id=task.agent_id,
        action=action_name(effect.kind, effect.action),
        resources=resources(effect.kind, effect.action),
        model=model,
        engine=task.engine,
        permission_mode=task.permission_mode,
        action_digest=effect.action_digest,
        request_id=attempt.request_id,
        session_id=attempt.session_id,
    )


async def ask_for_grant(tx: Transaction, effect: EffectRow, authority: Authority) -> None:
    """Ask the owner for exactly what the effect needs (A10)."""
    task = await tx.session.get_one(TaskRow, effect.task_id)
    wanted = await execution_of(tx, effect, authority.model)
    await request_for_effect(tx, effect, task, authority.owner, wanted)


def _refusal(tx: Transaction, grant: GrantRow, execution: Execution) -> Refusal | None:
    # A derived grant is a narrowing, so what it covers its ancestors cover; their state was read with it (A15).
    return covers(Bounds.model_validate(grant.bounds), execution, tx.now)


async def _is_active(tx: Transaction, grant: GrantRow) -> bool:
    return all(grant_rows.state_of(tx, one) is GrantState.ACTIVE for one in await grant_rows.lineage(tx, grant))


async def _ended_as(tx: Transaction, grant: GrantRow) -> str:
    states = [grant_rows.state_of(tx, one) for one in await grant_rows.lineage(tx, grant)]
    return next(state.value for state in states if state in (GrantState.REVOKED, GrantState.EXPIRED))


def _outside(tx: Transaction, grant: GrantRow, outside: OutsideAnswer | None) -> Authorization:
    if outside is None or outside.grant_id != grant.grant_id:
        return Authorization(Answer.UNCERTAIN, "authorization_uncertain")
    age_s = (tx.now - outside.asked_at).total_seconds()
    if not 0.0 <= age_s <= FRESH_S:
        return Authorization(Answer.UNCERTAIN, "authorization_uncertain")
    return Authorization(outside.answer, outside.code)
