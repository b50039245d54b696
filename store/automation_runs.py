"""Firings of automations (U3-U7): one transaction decides a nominal time, once and for all, and makes its task.

The hard thing is who comes when: schedules, people, recovery after an outage and the end of an earlier run all decide
here, in any order and repeatedly, and each nominal time still has one record and one run at most (U5).
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.automation import AutomationMode, AutomationState, Overlap
from domain.automation_firing import (
    DEFAULT_FAILURES,
    ON_TIME,
    RAN,
    Cause,
    Due,
    FiringState,
    Reason,
    Standing,
    decide,
    due_times,
    is_nominal,
)
from domain.occurrences import is_recurring
from domain.refusal import refuse
from store import outbox
from store.automation_ends import count_failure, end_run, finish
from store.automation_firings import buffered_runs, decided_after, firing_at, has_active_task, record
from store.automation_grants import standing_of, tell_ended
from store.automation_starts import start_work
from store.automations import automation_row, schedule_of_row
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_grants import GrantRow


@dataclass(frozen=True, slots=True)
class FiringRules:
    """What a host adds to an automation's own rules.

    Attributes:
        failures: failed runs in a row after which an automation pauses itself (U7).
        refused: ids of grants that their external provider has just refused (A8).
    """

    failures: int = DEFAULT_FAILURES
    refused: AbstractSet[str] = field(default_factory=frozenset)


NATIVE_RULES = FiringRules()


async def fire(
    tx: Transaction, automation_id: str, nominal_time: datetime, schedule_revision: int, rules: FiringRules
) -> AutomationRunRow:
    """Decide a nominal time of a schedule, and everything due before it; decided again, it is the same answer.

    Raises:
        Refused: `not_found`; `invalid_params` for a stored schedule that this version cannot read (U8).
    """
    row = await automation_row(tx, automation_id, deleted=True)
    known = await firing_at(tx, automation_id, nominal_time, schedule_revision)
    if known is not None:
        return known
    due = Due(nominal_time, Cause.SCHEDULE)
    if row.state == AutomationState.DELETED.value:
        return await record(tx, row, due, FiringState.SKIPPED, Reason.DELETED, schedule_revision)
    stale = schedule_revision != row.schedule_revision
    if stale and (nominal_time <= row.decided_until or not is_nominal(schedule_of_row(row), nominal_time)):
        return await record(tx, row, due, FiringState.SKIPPED, Reason.SCHEDULE_CHANGED, schedule_revision)
    # A stale one that goes on is of a time that the edited schedule names too, and may hear of no more (U3).
    if row.state != AutomationState.ACTIVE.value:
        return await _decided(tx, row, due, rules)
    # The clocks of Temporal and of the database differ a little: a time that is just not yet here is here.
    ahead = nominal_time - tx.now
    await settle(tx, row, nominal_time if timedelta(0) < ahead <= ON_TIME else tx.now, rules, own=nominal_time)
    known = await firing_at(tx, automation_id, nominal_time, schedule_revision)
    if known is not None:
        return known
    if stale:
        return await record(tx, row, due, FiringState.SKIPPED, Reason.SCHEDULE_CHANGED, schedule_revision)
    if is_nominal(schedule_of_row(row), nominal_time):
        # It was due in a time that nobody decides any more: while the automation was paused, or so long ago that its
        # record was forgotten.
        return await record(tx, row, due, FiringState.SKIPPED, Reason.PAUSED, schedule_revision)
    # Temporal starts what it has buffered with the newest action: this is a time of the schedule before (U3).
    return await record(tx, row, due, FiringState.SKIPPED, Reason.SCHEDULE_CHANGED, schedule_revision)


async def settle(
    tx: Transaction, row: AutomationRow, until: datetime, rules: FiringRules, *, own: datetime | None = None
) -> list[AutomationRunRow]:
    """Decide every nominal time of an active automation up to `until` that has no record yet, oldest first (U4).

    What starts is followed by a workflow that is told by the outbox; that of `own` runs already.

    Raises:
        Refused: `invalid_params` for a stored schedule that this version cannot read (U8).
    """
    schedule = schedule_of_row(row)
    known = await decided_after(tx, row.automation_id, row.decided_until)
    coming = due_times(schedule, row.decided_until, until, tx.now, row.catchup_s, known)
    runs = []
    for due in coming:
        row.decided_until = max(row.decided_until, due.nominal_time)
        if due.nominal_time in known or row.state != AutomationState.ACTIVE.value:
            continue
        if due.missed is not None:
            runs.append(await record(tx, row, due, FiringState.MISSED, due.missed, row.schedule_revision))
            continue
        run = await _decided(tx, row, due, rules)
        runs.append(run)
        if run.state == FiringState.RAN.value and due.nominal_time != own:
            outbox.post(tx, outbox.AUTOMATION_FOLLOW, run.run_id)
    if coming and not is_recurring(schedule):
        await finish(tx, row)
    return runs


async def trigger(
    tx: Transaction, row: AutomationRow, principal: str, rules: FiringRules = NATIVE_RULES
) -> AutomationRunRow:
    """Fire now, by hand (U7): decided and recorded as any firing, also while the automation is paused.

    The caller's receipt makes it once for each request; its nominal time is the moment itself.
    """
    nominal_time = tx.now
    # A whole second could be a nominal time of the schedule, and has its workflow id.
    while nominal_time.microsecond == 0 or await firing_at(tx, row.automation_id, nominal_time, 0) is not None:
        nominal_time += timedelta(microseconds=1)
    run = await _decided(tx, row, Due(nominal_time, Cause.MANUAL), rules, principal)
    if run.state == FiringState.RAN.value:
        outbox.post(tx, outbox.AUTOMATION_FOLLOW, run.run_id)
    return run


async def conclude(
    tx: Transaction, automation_id: str, nominal_time: datetime, schedule_revision: int, rules: FiringRules
) -> AutomationRunRow:
    """Look whether a firing's task has ended, record that once, and let a buffered firing run then (U4, U7).

    Raises:
        Refused: `not_found`.
    """
    row = await automation_row(tx, automation_id, deleted=True)
    run = await firing_at(tx, automation_id, nominal_time, schedule_revision)
    if run is None:
        raise refuse("not_found", "No such firing.")
    if run.state != FiringState.RAN.value or await end_run(tx, row, run, rules.failures):
        await start_buffered(tx, row, rules)
    return run


async def start_buffered(tx: Transaction, row: AutomationRow, rules: FiringRules) -> None:
    """Let a buffered firing run if nothing of its automation does (U4); it may have been overtaken by a pause."""
    for run in await buffered_runs(tx, row.automation_id):
        if await has_active_task(tx, row):
            return
        standing, grant = await _standing(tx, row, rules)
        if standing.state is AutomationState.DONE:
            # A one-off that waited has had its time, not its run.
            standing = Standing(AutomationState.ACTIVE, standing.mode, standing.overlap, grant=standing.grant)
        decision = decide(standing, Cause(run.cause))
        run.state, run.reason = decision.state.value, decision.reason
        run.binding_revision, run.decided_at = row.binding_revision, tx.now
        if decision == RAN:
            await _run(tx, row, run, grant, rules)
            outbox.post(tx, outbox.AUTOMATION_FOLLOW, run.run_id)
        else:
            run.ended_at = tx.now
            await _tell_if_ended(tx, row, run, grant)


async def _decided(
    tx: Transaction, row: AutomationRow, due: Due, rules: FiringRules, principal: str = "host"
) -> AutomationRunRow:
    standing, grant = await _standing(tx, row, rules)
    decision = decide(standing, due.cause)
    run = await record(tx, row, due, decision.state, decision.reason, row.schedule_revision)
    if decision == RAN:
        await _run(tx, row, run, grant, rules)
    else:
        await _tell_if_ended(tx, row, run, grant)
    return run


async def _standing(tx: Transaction, row: AutomationRow, rules: FiringRules) -> tuple[Standing, GrantRow | None]:
    binding_grant, grant = await standing_of(tx, row, rules.refused)
    standing = Standing(
        AutomationState(row.state),
        AutomationMode(row.mode),
        Overlap(row.overlap),
        active=await has_active_task(tx, row),
        buffered=bool(await buffered_runs(tx, row.automation_id)),
        grant=binding_grant,
    )
    return standing, grant


async def _run(
    tx: Transaction, row: AutomationRow, run: AutomationRunRow, grant: GrantRow | None, rules: FiringRules
) -> None:
    refusal = await start_work(tx, row, run, grant)
    if refusal is not None:
        # What it needs is gone: an engine, an agent. It counts as failed, so that it does not go on for ever (U7).
        run.state, run.reason, run.ended_at = FiringState.SKIPPED.value, refusal, tx.now
        await count_failure(tx, row, run, rules.failures)


async def _tell_if_ended(tx: Transaction, row: AutomationRow, run: AutomationRunRow, grant: GrantRow | None) -> None:
    if run.reason == Reason.AUTHORIZATION.value and grant is not None:
        await tell_ended(tx, row, grant, run.run_id)
