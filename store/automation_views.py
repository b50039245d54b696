"""Automations as the wire contract shows them (api.md, U8): with their times to come, their last runs, their grant.

The hard thing is one broken row: it is shown with its error, and the others as if it were not there.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, select, union_all

from domain.automation import AutomationState
from domain.grant import GrantState
from domain.occurrences import next_instants
from domain.refusal import Refusal, Refused
from domain.schedule import Schedule, schedule_of
from domain.schedule_words import schedule_words
from store.automation_proposal_rows import open_proposals
from store.automations import automation_row, schedule_of_row, times_to_come
from store.columns import UNREADABLE
from store.database import Transaction
from store.grant_rows import state_of
from store.keyset import cursor_after, text_key
from store.tables_automations import AutomationProposalRow, AutomationRow, AutomationRunRow
from store.tables_grants import GrantRow
from store.tables_work import DeliveryRow
from store.wire_time import wire_time, wire_time_or_none

Json = dict[str, Any]
TIMES_SHOWN: Final = 5
TIMES_PREVIEWED: Final = 10
RUNS_LISTED: Final = 5
RUNS_OF_ONE: Final = 50


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands beside the rows of some automations, by their ids."""

    runs: Mapping[str, Sequence[AutomationRunRow]] = field(default_factory=dict)
    grants: Mapping[str, Sequence[GrantRow]] = field(default_factory=dict)
    results: Mapping[tuple[str, int], DeliveryRow] = field(default_factory=dict)
    notices: Mapping[str, DeliveryRow] = field(default_factory=dict)


def preview(schedule: Schedule, now: datetime) -> Json:
    """A schedule as it would be stored, in words, with its next ten times (U8, U9)."""
    return _timing(schedule, next_instants(schedule, now, TIMES_PREVIEWED))


async def automation_view(tx: Transaction, row: AutomationRow) -> Json:
    """One automation as every write answers it."""
    return _view(tx, row, await _around(tx, [row], RUNS_LISTED))


async def automation_detail(tx: Transaction, automation_id: str) -> Json:
    """One automation with its instructions and more of its runs.

    Raises:
        Refused: `not_found`.
    """
    row = await automation_row(tx, automation_id)
    return _view(tx, row, await _around(tx, [row], RUNS_OF_ONE)) | {"instructions": row.instructions}


async def automation_page(tx: Transaction, limit: int, cursor: str | None) -> Json:
    """A page of automations, newest first, by keyset; the first page also has the open proposals (U8, U9)."""
    query = select(AutomationRow).where(
        AutomationRow.user_space == tx.scope.user_space,
        AutomationRow.domain == tx.scope.domain,
        AutomationRow.state != AutomationState.DELETED.value,
    )
    after = text_key(cursor)
    if after is not None:
        query = query.where(AutomationRow.automation_id < after)
    rows = (await tx.session.scalars(query.order_by(AutomationRow.automation_id.desc()).limit(limit + 1))).all()
    shown = rows[:limit]
    around = await _around(tx, shown, RUNS_LISTED)
    more = cursor_after(shown[-1].automation_id) if len(rows) > limit else None
    page: Json = {"items": [_view(tx, row, around) for row in shown], "next_cursor": more}
    return page if cursor is not None else page | {"proposals": await _proposals(tx)}


def proposal_view(row: AutomationProposalRow, now: datetime) -> Json | None:
    """A proposal as its card shows it (U9); None for one whose times have passed or cannot be read."""
    schedule = schedule_of(row.content.get("schedule"))
    if isinstance(schedule, Refusal) or row.created_at == UNREADABLE:
        return None
    times = next_instants(schedule, now, TIMES_SHOWN)
    shown = {name: row.content.get(name) for name in ("title", "instructions", "mode")}
    # The messages that asked for it: a client shows its card with the answer to them.
    asked = {"session_id": row.source_session_id, "message_seqs": row.source_seqs}
    view: Json = {
        "proposal_id": row.proposal_id,
        "kind": row.kind,
        "automation_id": row.automation_id,
        **shown,
        **_timing(schedule, times),
        "source": asked if row.source_session_id is not None else None,
        "created_at": wire_time(row.created_at),
    }
    return {key: value for key, value in view.items() if value is not None} if times else None


async def _proposals(tx: Transaction) -> list[Json]:
    views = [proposal_view(row, tx.now) for row in await open_proposals(tx)]
    return [view for view in views if view is not None]


def _timing(schedule: Schedule, times: Sequence[datetime]) -> Json:
    return {
        "schedule": schedule.stored(),
        "words": schedule_words(schedule),
        "next_times": [wire_time(time) for time in times],
    }


def _view(tx: Transaction, row: AutomationRow, around: _Around) -> Json:
    view: Json = {
        "automation_id": row.automation_id, "binding_id": row.binding_id, "title": row.title,
        "agent_id": row.agent_id, "engine": row.engine, "permission_mode": row.permission_mode,
        "mode": row.mode, "overlap": row.overlap, "catchup_s": row.catchup_s,
        "revision": row.revision, "binding_revision": row.binding_revision,
        "schedule_revision": row.schedule_revision, "state": row.state,
        **_timing_of(row, tx.now),
        "grant": _grant(tx, row, around.grants.get(row.automation_id, ())),
        "runs": [_run(run, around) for run in around.runs.get(row.automation_id, ())],
        "created_at": wire_time_or_none(row.created_at), "updated_at": wire_time_or_none(row.updated_at),
    }  # fmt: skip
    optional = {"reason": row.reason, "task_id": row.task_id}
    return view | {key: value for key, value in optional.items() if value is not None}


def _timing_of(row: AutomationRow, now: datetime) -> Json:
    try:
        return _timing(schedule_of_row(row), times_to_come(row, now, TIMES_SHOWN))
    except Refused as refused:
        refusal = refused.refusal
        return {
            "schedule": row.schedule,
            "next_times": [],
            "error": {"code": refusal.code, "message": refusal.message},
        }


def _grant(tx: Transaction, row: AutomationRow, grants: Sequence[GrantRow]) -> Json | None:
    """The grant of what the automation does now: the newest in force, else the newest that has ended (U6)."""
    states = [(state_of(tx, grant), grant) for grant in grants if grant.binding_revision == row.binding_revision]
    if not states:
        return None
    state, grant = next((one for one in states if one[0] is GrantState.ACTIVE), states[0])
    return {"ref": grant.grant_id, "state": state.value, "expires_at": wire_time(grant.expires_at)}


def _run(run: AutomationRunRow, around: _Around) -> Json:
    view: Json = {
        "nominal_time": wire_time(run.nominal_time), "state": run.state, "cause": run.cause, "count": run.count,
    }  # fmt: skip
    result = around.results.get((run.task_id or "", run.requirement_version or 0))
    delivery = result or around.notices.get(run.run_id)
    optional: Json = {
        "reason": run.reason, "task_id": run.task_id, "outcome": run.outcome,
        "delivery": None if delivery is None else _delivery(delivery),
    }  # fmt: skip
    return view | {key: value for key, value in optional.items() if value is not None}


def _delivery(row: DeliveryRow) -> Json:
    view: Json = {"delivery_id": row.delivery_id, "kind": row.kind, "state": row.state}
    return view if row.message_seq is None else view | {"message_seq": row.message_seq}


async def _around(tx: Transaction, rows: Sequence[AutomationRow], runs_each: int) -> _Around:
    ids = [row.automation_id for row in rows]
    if not ids:
        return _Around()
    runs: dict[str, list[AutomationRunRow]] = defaultdict(list)
    few = (await tx.session.scalars(_newest_runs(ids, runs_each))).all()
    # A record of a time that cannot be read is of no use to anybody, and the others are.
    told = [run for run in few if run.nominal_time != UNREADABLE]
    for run in sorted(told, key=lambda run: run.nominal_time, reverse=True):
        runs[run.automation_id].append(run)
    grants: dict[str, list[GrantRow]] = defaultdict(list)
    held = select(GrantRow).where(GrantRow.automation_id.in_(ids), GrantRow.parent_grant_id.is_(None))
    for grant in await tx.session.scalars(held.order_by(GrantRow.grant_id.desc())):
        grants[grant.automation_id or ""].append(grant)
    all_runs = [run for of_one in runs.values() for run in of_one]
    tasks = [run.task_id for run in all_runs if run.task_id is not None]
    brought = select(DeliveryRow).where(DeliveryRow.owner_kind == "task", DeliveryRow.owner_id.in_(tasks))
    # The newest of a version is its result or failure: what it asked for before came earlier.
    found = await tx.session.scalars(brought.order_by(DeliveryRow.delivery_id))
    results = {(one.owner_id, one.requirement_version): one for one in found}
    about = select(DeliveryRow).where(
        DeliveryRow.owner_kind == "automation",
        DeliveryRow.owner_id.in_(ids),
        DeliveryRow.subject_id.in_([run.run_id for run in all_runs]),
    )
    notices = {one.subject_id: one for one in await tx.session.scalars(about)}
    return _Around(runs, grants, results, notices)


def _newest_runs(ids: Sequence[str], each: int) -> Select[AutomationRunRow]:
    """The last runs of each, in no order: found by index, however many there are."""
    last = [
        select(AutomationRunRow.run_id)
        .where(AutomationRunRow.automation_id == automation_id)
        .order_by(AutomationRunRow.nominal_time.desc())
        .limit(each)
        .subquery()
        for automation_id in ids
    ]
    wanted = union_all(*(select(part.c.run_id) for part in last))
    return select(AutomationRunRow).where(AutomationRunRow.run_id.in_(wanted))
