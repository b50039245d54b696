"""Scenarios of effects that end otherwise: invalidated, too late for their claim, without an answer, unknown (E13).

And of those that take another way to the gate: reviewed (E8), granted later (A10).
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from activities import review
from activities.file_effect import FileEffect
from contracts.names import effect_workflow, grant_workflow
from domain.action import FileAction
from domain.gate import Review
from store import effect_views, gate, grant_proposals, grants
from store.effect_ends import Outcome
from store.grants import Issuer
from tests.replay.scenario import MARKER, Play, Recorded, Scenario, attempt, delegated, submit, write
from tests.workflows.rig import Rig


async def _allowed(rig: Rig, meanwhile: Callable[[], Any] | None = None) -> tuple[str, str]:
    """Allow a task's write and wait for the effect's end; the ids of task and effect."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    card = await rig.card(task_id=task_id)
    if meanwhile is not None:
        meanwhile()
    await rig.decide(card, "allow_once")
    return task_id, str(card["effect_id"])


async def reviewed(rig: Rig) -> Sequence[Recorded]:
    """The automatic review allows what a task writes: no card (E8)."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    await rig.until_message(origin="delivery")
    async with rig.parts.database.read(rig.scope) as tx:
        (effect,) = await effect_views.task_effects(tx, task_id)
    assert ("review", "allow") in [(entry["step"], entry["verdict"]) for entry in effect["trail"]]
    return [Recorded("effect/reviewed", effect_workflow(effect["effect_id"]))]


async def reviewed_unsure(rig: Rig) -> Sequence[Recorded]:
    """The automatic review leaves it to the person, who allows it."""
    _, effect_id = await _allowed(rig)
    await rig.until_message(origin="delivery")
    assert (await rig.effect(effect_id))["state"] == "succeeded"
    return [Recorded("effect/reviewed_unsure", effect_workflow(effect_id))]


async def granted_later(rig: Rig) -> Sequence[Recorded]:
    """A task's effect waits for a grant, then for its card (A10); in the end the grant is taken back (A12)."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    await rig.until_task(task_id, "waiting_authorization")
    async with rig.parts.database.write(rig.scope) as tx:
        (proposal,) = await grant_proposals.open_proposals(tx, task_id)
        _, grant = await grants.issue(tx, proposal.proposal_id, None, Issuer(), "test:grant", "owner")
    rig.pulse.ring()
    card = await rig.card(task_id=task_id)
    await rig.decide(card, "allow_once")
    await rig.until_task(task_id, "completed")
    async with rig.parts.database.write(rig.scope) as tx:
        await grants.revoke(tx, grant.grant_id, None, "test:revoke", "owner")
    rig.pulse.ring()
    return [
        Recorded("effect/granted_later", effect_workflow(str(card["effect_id"]))),
        Recorded("grant/revoked", grant_workflow(grant.grant_id)),
    ]


async def invalidated(rig: Rig) -> Sequence[Recorded]:
    """The file changes between the card and its decision."""
    path = rig.parts.files.root / f"{MARKER}.txt"
    _, effect_id = await _allowed(rig, lambda: path.write_text("other"))
    await rig.until_message(origin="delivery")
    assert (await rig.effect(effect_id))["reason"] == "approval_invalidated"
    return [Recorded("effect/invalidated", effect_workflow(effect_id))]


def _ending(name: str, state: str) -> Play:
    async def play(rig: Rig) -> Sequence[Recorded]:
        task_id, effect_id = await _allowed(rig)
        await rig.until_message(origin="delivery")
        assert (await rig.effect(effect_id))["state"] == state
        recorded = [Recorded(f"effect/{name}", effect_workflow(effect_id))]
        return [*recorded, Recorded("attempt/effect_unknown", attempt(task_id))] if state == "unknown" else recorded

    play.__name__ = name
    return play


def _stale_claim() -> AbstractContextManager[Any]:
    """The first claim is too old when its dispatch begins (E12)."""
    start, seen = gate.start, []

    async def late(tx: Any, row: Any, resource: Any, limits: Any) -> bool:
        seen.append(row.effect_id)
        return await start(tx, row, resource, replace(limits, claim_fresh_s=-1.0) if len(seen) == 1 else limits)

    return patch.object(gate, "start", late)


def _perform(instead: Callable[[FileEffect, dict[str, Any], bytes], Outcome]) -> AbstractContextManager[Any]:
    return patch.object(FileEffect, "perform", instead)


def _lost_answer() -> AbstractContextManager[Any]:
    perform = FileEffect.perform

    def crash(effect: FileEffect, fields: dict[str, Any], content: bytes) -> Outcome:
        perform(effect, fields, content)
        raise RuntimeError

    return _perform(crash)


def _not_done() -> AbstractContextManager[Any]:
    def crash(effect: FileEffect, fields: dict[str, Any], content: bytes) -> Outcome:
        raise RuntimeError

    return _perform(crash)


def _half_done() -> AbstractContextManager[Any]:
    def crash(effect: FileEffect, fields: dict[str, Any], content: bytes) -> Outcome:
        Path(FileAction.model_validate(fields).path).write_bytes(content[:3])
        raise RuntimeError

    return _perform(crash)


def _reviewer_allows() -> AbstractContextManager[Any]:
    async def allow(*_: Any) -> tuple[Review, str | None]:
        return Review.ALLOW, "asked for"

    return patch.object(review, "ask_reviewer", allow)


def _changed_at_last() -> AbstractContextManager[Any]:
    perform = FileEffect.perform

    def late(effect: FileEffect, fields: dict[str, Any], content: bytes) -> Outcome:
        Path(FileAction.model_validate(fields).path).write_text("other")
        return perform(effect, fields, content)

    return _perform(late)


SCENARIOS = (
    Scenario(reviewed, settings={"reviewed": True}, around=_reviewer_allows),
    Scenario(reviewed_unsure, settings={"reviewed": True}),
    Scenario(granted_later, settings={"granted": False}),
    Scenario(invalidated),
    Scenario(_ending("gate_again", "succeeded"), around=_stale_claim),
    Scenario(_ending("reconciled_done", "succeeded"), around=_lost_answer),
    Scenario(_ending("reconciled_not_done", "failed"), around=_not_done),
    Scenario(_ending("unknown", "unknown"), around=_half_done),
    Scenario(_ending("failed", "failed"), around=_changed_at_last),
)
