"""The automatic review of an effect (E8): read the action and the genuine request, ask the model, keep its answer.

The answer decides nothing by itself: the gate runs again and has the last word.
"""

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from temporalio import activity

from activities.heartbeat import beating
from activities.scopes import scope_of
from assistant.review import ask_reviewer
from assistant.review_prompt import ReviewedAction, review_prompt
from contracts.effects import EffectActivities, EffectRef
from contracts.options import REVIEW_WAIT_S
from domain.gate import Review
from store import audit
from store.database import Database
from store.effect_rows import effect_row
from store.genuine_request import genuine_request
from store.reviews import is_reviewed, review_wanted, store_review
from store.tables_authority import EffectRow

if TYPE_CHECKING:
    from pydantic_ai.models import Model

TRIES = 3
"""A review whose process died so often goes to a person: it must not hold the work up."""
NOBODY = "none"
MARK_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Said:
    verdict: Review
    reason: str | None = None
    model: str = NOBODY


class ReviewWork(EffectActivities):
    """Reviews effects with the space's model; without one (`offline` judges nothing) every answer is unsure."""

    def __init__(
        self, database: Database, model: "Model[Any] | None", root: str, wait_s: float = REVIEW_WAIT_S
    ) -> None:
        self._database = database
        self._model = model
        self._root = root
        self._wait_s = wait_s

    @activity.defn(name="effect.review")
    async def review(self, effect: EffectRef) -> None:
        """Have the automatic review judge the exact action and keep what it said (E8); an earlier answer stays."""
        async with beating():
            async with self._database.read(scope_of(effect)) as tx:
                row = await effect_row(tx, effect.effect_id)
                if not await review_wanted(tx, row) or await is_reviewed(tx, row):
                    return
                request = await genuine_request(tx, row)
            said = await self._judge(row, request)
            async with self._database.write(scope_of(effect)) as tx:
                row = await effect_row(tx, effect.effect_id)
                # It may have been stopped or judged meanwhile.
                if not await review_wanted(tx, row) or await is_reviewed(tx, row):
                    return
                await store_review(tx, row, said.verdict, said.reason, said.model)
                await audit.record(
                    tx, "effect.review", row.effect_id, _VERDICTS[said.verdict], principal=f"model:{said.model}",
                    action_digest=row.action_digest,
                )  # fmt: skip

    async def _judge(self, row: EffectRow, request: tuple[str, ...]) -> _Said:
        if self._model is None or not request or _tries() > TRIES:
            return _Said(Review.UNSURE)
        reviewed = ReviewedAction(
            kind=row.kind,
            action=row.action,
            content=row.content,
            words=str(row.words["en"]),
            preview=row.preview,
            root=self._root,
        )
        prompt = review_prompt(request, reviewed, secrets.token_hex(MARK_BYTES))
        if prompt is None:
            return _Said(Review.UNSURE)
        verdict, reason = await ask_reviewer(self._model, prompt, self._wait_s)
        return _Said(verdict, reason, self._model.model_name)


_VERDICTS = {Review.ALLOW: "allow", Review.DENY: "deny", Review.UNSURE: "uncertain"}


def _tries() -> int:
    return activity.info().attempt if activity.in_activity() else 1
