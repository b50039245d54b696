"""The measures to compare with: Temporal workflows whose activities do nothing, or only wait.

`python -m benchmarks.bare HOST:PORT [FILE]` serves them with the settings of Steward's own worker. Activities that
wait, and those behind a wait, write a line with their workflow's id into FILE when they begin.
"""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from contracts.options import MODEL_STEP_HEARTBEAT, MODEL_STEP_RETRY, MODEL_STEP_TIMEOUT

QUEUE = "bare"
TIMEOUT = timedelta(seconds=30)
STICKY_TIMEOUT = timedelta(seconds=1)
"""As Steward's workers have it; importing theirs would cost this process their start."""


@activity.defn(name="bare.nothing")
async def nothing(number: int) -> int:
    """Do nothing."""
    return number


@workflow.defn(name="BareWorkflow")
class BareWorkflow:
    """Calls so many normal and local activities one after the other."""

    @workflow.run
    async def run(self, normal: int, local: int) -> int:
        """Local ones first, the others behind them."""
        for number in range(local):
            await workflow.execute_local_activity(nothing, number, start_to_close_timeout=TIMEOUT)
        for number in range(normal):
            await workflow.execute_activity(nothing, number, start_to_close_timeout=TIMEOUT)
        return normal + local


class Begun:
    """Activities that are seen to begin."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @activity.defn(name="bare.hang")
    async def hang(self) -> None:
        """Beat, and never end."""
        self._note()
        while True:
            await asyncio.sleep(MODEL_STEP_HEARTBEAT.total_seconds() / 3)
            activity.heartbeat()

    @activity.defn(name="bare.go_on")
    async def go_on(self) -> None:
        """End at once."""
        self._note()

    def _note(self) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{activity.info().workflow_id}\n")


@workflow.defn(name="BareInFlight")
class BareInFlight:
    """Hangs in an activity, or waits for a signal before a short one."""

    @workflow.init
    def __init__(self, hangs: bool) -> None:
        self._answered = False

    @workflow.signal
    def answer(self) -> None:
        """What it waits for."""
        self._answered = True

    @workflow.run
    async def run(self, hangs: bool) -> None:
        """Be in flight."""
        if hangs:
            await workflow.execute_activity_method(
                Begun.hang, start_to_close_timeout=MODEL_STEP_TIMEOUT, heartbeat_timeout=MODEL_STEP_HEARTBEAT,
                retry_policy=MODEL_STEP_RETRY,
            )  # fmt: skip
        await workflow.wait_condition(lambda: self._answered)
        await workflow.execute_activity_method(Begun.go_on, start_to_close_timeout=TIMEOUT)


async def serve(address: str, file: Path) -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    begun = Begun(file)
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[BareWorkflow, BareInFlight],
        activities=[nothing, begun.hang, begun.go_on],
        workflow_runner=UnsandboxedWorkflowRunner(),
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
    ):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else os.devnull)))
