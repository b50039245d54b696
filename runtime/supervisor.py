"""Keeps the children running in order, and stops them in the opposite order (O22, H16).

Each child starts once the one before it serves. A child that dies is started again after a back-off; one that ends with
the exit code of a configuration error ends everything, since no restart can mend it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from runtime.back_off import BackOff
from runtime.exit_codes import CONFIGURATION, DONE, FAILED
from runtime.pid_files import PidFiles
from runtime.supervised_child import ChildSpec, SupervisedChild

POLL_S = 0.05

log = structlog.get_logger()


class Supervisor:
    """Runs children until it is told to stop or one of them cannot be run at all."""

    def __init__(
        self, specs: Sequence[ChildSpec], pid_files: PidFiles, new_back_off: Callable[[], BackOff] = BackOff
    ) -> None:
        """Prepare to run the children, the first of which is started first and stopped last."""
        self._children = [SupervisedChild(spec, pid_files) for spec in specs]
        self._new_back_off = new_back_off
        self._failed = asyncio.Event()

    async def run(self, stop: asyncio.Event, on_ready: Callable[[], Awaitable[None]] | None = None) -> int:
        """Run until `stop` is set, then stop everything; return the exit code of the whole.

        Args:
            stop: Set by whoever wants the end.
            on_ready: Called once, when every child serves for the first time.
        """
        serving = [asyncio.Event() for _ in self._children]
        previous: list[asyncio.Event | None] = [None, *serving[:-1]]
        tasks = [
            asyncio.create_task(self._keep(child, before, ready))
            for child, before, ready in zip(self._children, previous, serving, strict=True)
        ]
        tasks.append(asyncio.create_task(_announce(serving, on_ready)))
        ends = [asyncio.create_task(event.wait()) for event in (stop, self._failed)]
        try:
            # A keeper ends only by an unexpected error, which must not leave the others running unwatched.
            await asyncio.wait([*ends, *tasks[:-1]], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*tasks, *ends):
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for child in reversed(self._children):
                code = await child.stop()
                log.info("child_stopped", child=child.spec.name, exit_code=code)
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        for error in errors:
            log.error("supervision_failed", exc_info=error)
        return FAILED if errors or self._failed.is_set() else DONE

    async def _keep(self, child: SupervisedChild, before: asyncio.Event | None, serving: asyncio.Event) -> None:
        if before is not None:
            await before.wait()
        back_off = self._new_back_off()
        while not self._failed.is_set():
            served_since: float | None = None
            await child.start()
            if await self._serves(child):
                served_since = time.monotonic()
                serving.set()
                log.info("child_ready", child=child.spec.name)
            elif child.is_running:
                log.error("child_not_ready", child=child.spec.name, within_s=child.spec.start_limit_s)
                await child.stop()
            code = await child.wait()
            if code == CONFIGURATION:
                self._failed.set()
                return
            # A start that takes long is no healthy run, however long it takes.
            delay = back_off.after_run_of(0.0 if served_since is None else time.monotonic() - served_since)
            log.warning("child_ended", child=child.spec.name, exit_code=code, restart_in_s=delay)
            await asyncio.sleep(delay)

    async def _serves(self, child: SupervisedChild) -> bool:
        """Wait until the child serves; False when it ended before, or its limit has passed."""
        is_ready = child.spec.is_ready
        deadline = time.monotonic() + child.spec.start_limit_s
        while child.is_running and time.monotonic() < deadline:
            if is_ready is None or await is_ready():
                return child.is_running
            await asyncio.sleep(POLL_S)
        return False


async def _announce(serving: Sequence[asyncio.Event], on_ready: Callable[[], Awaitable[None]] | None) -> None:
    for event in serving:
        await event.wait()
    if on_ready is not None:
        await on_ready()
