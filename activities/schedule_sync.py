"""An automation's Temporal schedule follows its row (U1, U3, U7): created, updated, paused, renewed, deleted.

The hard thing is two that do this at once with different rows: the server takes the later update, not the newer row. So
whoever has written reads the row again, and goes on until the schedule is that of the row.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleDescription,
    ScheduleHandle,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from contracts import names
from contracts.automations import AutomationRef
from contracts.search_attributes import attributes
from contracts.starting import AUTOMATION_SUMMARY, automation_attributes
from store import automation_plans
from store.automation_plans import Plan
from store.automation_runs import FiringRules
from store.automations import automation_row
from store.database import Database, Scope
from store.tables_automations import AutomationRow

CATCHUP: Final = timedelta(days=365)
"""Every nominal time that Temporal was away for reaches the transaction that decides it (U4)."""
RPC_TIMEOUT: Final = timedelta(seconds=5)
ROUNDS: Final = 10
"""So often a row may change while its schedule is made to follow it; then this is tried again later."""
REST_S: Final = 15.0
"""After a renewal that failed, no firing asks about that schedule for so long: what it has lasts for minutes."""


class RowKeepsChanging(RuntimeError):
    """The row changed whenever its schedule was made to follow it."""


class AutomationSchedules:
    """Makes schedules follow rows; harmless when repeated, by anybody."""

    def __init__(self, database: Database, client: Client, rules: FiringRules) -> None:
        self._database = database
        self._client = client
        self._rules = rules
        self._seen: dict[str, tuple[int, tuple[datetime, ...]]] = {}
        self._renewing: set[str] = set()
        self._rests_until: dict[str, float] = {}

    async def renew(self, scope: Scope, automation_id: str) -> str:
        """As `sync`, for a firing: only where the schedule may lack instants, nobody is at it, and the server answers.

        The server answers one question about a schedule at a time and refuses the others. After an outage the hundreds
        of firings that are made up for would keep it from its work, and their waiting would keep this worker from
        everything else. None of them is needed: one renewal does for all, and what one of them could not do is left to
        a later firing or to the host's look.

        Raises:
            Exception: as `sync`; the same call is then "nothing" for `REST_S`.
        """
        now = asyncio.get_running_loop().time()
        if automation_id in self._renewing or now < self._rests_until.get(automation_id, 0.0):
            return "nothing"
        self._renewing.add(automation_id)
        try:
            plan = await self._plan(scope, automation_id)
            revision, instants = self._seen.get(automation_id, (0, ()))
            if revision == plan.row.revision and _are_enough(instants, plan.instants or ()):
                return "nothing"
            done = await self.sync(scope, automation_id)
        except Exception:
            self._rests_until[automation_id] = asyncio.get_running_loop().time() + REST_S
            raise
        else:
            self._rests_until.pop(automation_id, None)
            return done
        finally:
            self._renewing.discard(automation_id)

    async def sync(self, scope: Scope, automation_id: str) -> str:
        """Make one schedule that of its row, and decide what is due and was passed over meanwhile.

        Returns:
            What was done last: created, updated, deleted, or nothing.

        Raises:
            RPCError: Temporal did not take it.
            Refused: `not_found`; `invalid_params` for a stored schedule that this version cannot read (U8).
            RowKeepsChanging: in the rounds that it has.
        """
        done = "nothing"
        for _ in range(ROUNDS):
            plan = await self._plan(scope, automation_id)
            done = await self._follow(scope, plan) or done
            async with self._database.read(scope) as tx:
                row = await automation_row(tx, automation_id, deleted=True)
                due = automation_plans.is_due(row, tx.now)
            if row.revision != plan.row.revision:
                continue
            if not due:
                return done
            # Temporal passes over what falls between its last look and an update. Deciding it may end a one-off.
            async with self._database.write(scope) as tx:
                await automation_plans.settle_due(tx, automation_id, self._rules)
        raise RowKeepsChanging

    async def _plan(self, scope: Scope, automation_id: str) -> Plan:
        async with self._database.read(scope) as tx:
            return await automation_plans.plan_of(tx, automation_id)

    async def _follow(self, scope: Scope, plan: Plan) -> str | None:
        handle = self._client.get_schedule_handle(names.automation_schedule(plan.row.automation_id))
        try:
            if plan.instants is None:
                self._seen.pop(plan.row.automation_id, None)
                await handle.delete(rpc_timeout=RPC_TIMEOUT)
                return "deleted"
            return await self._update(handle, scope, plan)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND or error.message.lower().startswith("namespace"):
                raise
        return None if plan.instants is None else await self._create(scope, plan)

    async def _create(self, scope: Scope, plan: Plan) -> str:
        ref = reference(scope, plan.row)
        try:
            await self._client.create_schedule(
                names.automation_schedule(ref.automation_id),
                schedule_as_planned(ref, plan),
                # The memo of a schedule cannot be changed: what does change is in those of its runs, and in its note.
                memo={"automation_id": ref.automation_id, "binding_id": ref.binding_id},
                search_attributes=attributes(
                    ref.user_space, ref.domain, "automation", None, agent=ref.agent_id, automation=ref.automation_id
                ),
                rpc_timeout=RPC_TIMEOUT,
            )
        except ScheduleAlreadyRunningError:
            # Somebody else has just created it, perhaps for an older row.
            handle = self._client.get_schedule_handle(names.automation_schedule(ref.automation_id))
            return await self._update(handle, scope, plan) or "nothing"
        self._seen[ref.automation_id] = (ref.revision, plan.instants or ())
        return "created"

    async def _update(self, handle: ScheduleHandle, scope: Scope, plan: Plan) -> str | None:
        ref, done = reference(scope, plan.row), False

        async def changed(given: ScheduleUpdateInput) -> ScheduleUpdate | None:
            nonlocal done
            there = await self._reference_in(given.description)
            if there is not None and not _wants_update(given.description, there, plan):
                self._seen[ref.automation_id] = (there.revision, tuple(instants_in(given.description.schedule.spec)))
                return None
            done = True
            return ScheduleUpdate(schedule_as_planned(ref, plan))

        await handle.update(changed, rpc_timeout=RPC_TIMEOUT)
        if done:
            self._seen[ref.automation_id] = (ref.revision, plan.instants or ())
        return "updated" if done else None

    async def _reference_in(self, description: ScheduleDescription) -> AutomationRef | None:
        """What the schedule was last made from; None for one that somebody else has made."""
        action = description.schedule.action
        if not isinstance(action, ScheduleActionStartWorkflow):
            return None
        payloads = [argument for argument in action.args if isinstance(argument, Payload)]
        decoded: list[Any] = await self._client.data_converter.decode(payloads, [AutomationRef])
        return decoded[0] if decoded and isinstance(decoded[0], AutomationRef) else None


def reference(scope: Scope, row: AutomationRow, nominal_time: datetime | None = None) -> AutomationRef:
    """A row as workflows name it."""
    return AutomationRef(
        user_space=scope.user_space, domain=scope.domain, automation_id=row.automation_id, binding_id=row.binding_id,
        revision=row.revision, schedule_revision=row.schedule_revision, binding_revision=row.binding_revision,
        agent_id=row.agent_id, nominal_time=nominal_time,
    )  # fmt: skip


def schedule_as_planned(ref: AutomationRef, plan: Plan) -> Schedule:
    """The whole schedule: exact instants in UTC, every one of which starts a workflow (U1)."""
    memo: Mapping[str, Any] = ref.memo
    return Schedule(
        action=ScheduleActionStartWorkflow(
            "AutomationWorkflow",
            ref,
            id=names.automation_action(ref.automation_id),
            task_queue=names.SHARED_QUEUE,
            memo=memo,
            typed_search_attributes=automation_attributes(ref),
            static_summary=AUTOMATION_SUMMARY,
        ),
        spec=ScheduleSpec(calendars=[_exactly(instant) for instant in plan.instants or ()]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL, catchup_window=CATCHUP),
        state=ScheduleState(paused=plan.paused, note=_note(ref)),
    )


def instants_in(spec: ScheduleSpec) -> list[datetime]:
    """The instants that a schedule of ours names."""
    return [
        datetime(
            calendar.year[0].start, calendar.month[0].start, calendar.day_of_month[0].start,
            calendar.hour[0].start, calendar.minute[0].start, calendar.second[0].start, tzinfo=UTC,
        )
        for calendar in spec.calendars
    ]  # fmt: skip


def _wants_update(description: ScheduleDescription, there: AutomationRef, plan: Plan) -> bool:
    """A newer row always, an older one never; the same one when half of its instants have passed."""
    if there.revision != plan.row.revision:
        return there.revision < plan.row.revision
    enough = _are_enough(instants_in(description.schedule.spec), plan.instants or ())
    return not enough or description.schedule.state.paused != plan.paused


def _are_enough(there: Iterable[datetime], wanted: tuple[datetime, ...]) -> bool:
    """Whether at least half of the instants that a schedule should have are among those that it has."""
    return len(set(there).intersection(wanted)) * 2 >= len(wanted)


def _exactly(instant: datetime) -> ScheduleCalendarSpec:
    utc = instant.astimezone(UTC)
    second, minute, hour, day, month, year = (
        [ScheduleRange(part)] for part in (utc.second, utc.minute, utc.hour, utc.day, utc.month, utc.year)
    )
    return ScheduleCalendarSpec(second=second, minute=minute, hour=hour, day_of_month=day, month=month, year=year)


def _note(ref: AutomationRef) -> str:
    return (
        f"revision {ref.revision}, schedule revision {ref.schedule_revision}, binding revision {ref.binding_revision}"
    )
