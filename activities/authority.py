"""The external provider's answer for one effect, fetched right before the gate's transaction (A4, A6).

The hard thing is the answer's age: it is counted from the database's time before the request, so that a slow answer is
an old one, and the gate compares two times of one clock.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime

import structlog

from contracts.authorization import (
    ANSWER_TIMEOUT_S,
    Allow,
    AuthorizationProvider,
    Deny,
    Lease,
    Reference,
    Uncertain,
)
from domain.gate import Answer
from domain.grant import Bounds, Execution
from domain.grant_bounds import Owner
from store.authority import Authority, OutsideAnswer, execution_of, held_grant
from store.automation_grants import grants_of_automation
from store.database import Database, Scope, Transaction
from store.effect_rows import effect_row
from store.tables_grants import GrantRow
from store.tables_work import TaskRow

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Question:
    ref: Reference
    execution: Execution
    asked_at: datetime


class OutsideAuthority:
    """Asks the selected provider about an effect's grant; without an external provider nobody is asked."""

    def __init__(
        self,
        database: Database,
        authority: Authority,
        provider: AuthorizationProvider | None,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self._database = database
        self._authority = authority
        self._provider = provider
        self._timeout_s = timeout_s

    async def ask(self, effect_id: str, scope: Scope) -> OutsideAnswer | None:
        """The provider's answer about the grant that the effect would happen under.

        None where there is nothing to ask: the provider is the native one, is missing or lacks a part of the contract,
        the effect is a reply's own (A13), or its task has no grant. The gate knows what each of these means.
        """
        if self._provider is None or not self._authority.is_outside:
            return None
        question = await self._question(effect_id, scope)
        if question is None:
            return None
        reply = await self._reply(self._provider, question)
        ref = question.ref.grant_ref
        if isinstance(reply, Allow):
            return OutsideAnswer(ref, Answer.ALLOW, None, question.asked_at)
        answer = Answer.DENY if isinstance(reply, Deny) else Answer.UNCERTAIN
        return OutsideAnswer(ref, answer, reply.code, question.asked_at)

    async def refused_of_binding(self, automation_id: str, scope: Scope) -> frozenset[str]:
        """Ids of the grants of what an automation does now that the provider refuses (U6, A8).

        One that it is not sure of is not among them: the firing's first effect is asked about anyway, and waits.
        """
        if self._provider is None or not self._authority.is_outside:
            return frozenset()
        refused = set()
        async with self._database.read(scope) as tx:
            given = await grants_of_automation(tx, automation_id)
            questions = [_about_binding(tx, grant) for grant in given if grant.provider == self._authority.provider]
        for question in questions:
            if isinstance(await self._reply(self._provider, question), Deny):
                refused.add(question.ref.grant_ref)
        return frozenset(refused)

    async def _question(self, effect_id: str, scope: Scope) -> _Question | None:
        async with self._database.read(scope) as tx:
            if (await effect_row(tx, effect_id)).task_id is None:
                return None
        # A write: a sub-task's grant may be derived here (A15), and only a write has the database's own time.
        async with self._database.write(scope) as tx:
            effect = await effect_row(tx, effect_id)
            task = await tx.session.get_one(TaskRow, effect.task_id)
            execution = await execution_of(tx, effect, self._authority.model)
            grant, _ = await held_grant(tx, task, self._authority.provider, execution)
            if grant is None:
                return None
            return _Question(_reference(grant), execution, tx.now)

    async def _reply(self, provider: AuthorizationProvider, question: _Question) -> Allow[Lease] | Deny | Uncertain:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await provider.acquire(question.ref, question.execution)
        except TimeoutError:
            log.warning("authorization_slow", provider=provider.name)
        except Exception as error:
            # Whatever a provider does wrong is its "uncertain", never this activity's failure (A6).
            log.warning("authorization_failed", provider=provider.name, error=type(error).__name__)
        return Uncertain()


def _reference(grant: GrantRow) -> Reference:
    bounds = Bounds.model_validate(grant.bounds)
    return Reference(grant.grant_id, grant.account, Owner(bounds.issuer, bounds.tenant, bounds.subject))


def _about_binding(tx: Transaction, grant: GrantRow) -> _Question:
    """Whether a grant holds at all, before there is any effect to be asked about."""
    bounds = Bounds.model_validate(grant.bounds)
    execution = Execution(
        user_space=bounds.user_space, domain=bounds.domain, agent_id=bounds.agent_id, action="automation.fire",
        resources=frozenset(), model="", engine="", permission_mode="", action_digest="", request_id="", session_id="",
    )  # fmt: skip
    return _Question(_reference(grant), execution, tx.now)
