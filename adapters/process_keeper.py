"""The one supervisor of a machine's commands (E15): starts them, gives them input, ends them, learns how they ended.

Each command has a supervising process of its own, which dies with this one and takes the command with it. What happens
to a command is written down by that process, so a killed worker loses no outcome that there is (E13).
"""

import asyncio
import base64
import json
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from adapters.dispatch_lock import DispatchLock, DispatchLocks
from adapters.process_leftovers import Leftovers
from adapters.process_order import KeeperClosed, Kept, NotStarted, Order
from adapters.process_records import ProcessRecords
from adapters.process_tree import MARK
from domain.command_action import OUTPUT_BYTES
from domain.process_end import Why

Json = dict[str, Any]
_PACKAGES: Final = str(Path(__file__).resolve().parent.parent)
_LINE_BYTES: Final = 4 * OUTPUT_BYTES
GRACE_S: Final = 2.0
"""How long a command may take to end politely before it is killed (S6)."""
OVERTIME_S: Final = 60.0
"""How much longer than its time limit a command's supervising process may take before it is given up itself."""
CLOSING_S: Final = 8.0


class ProcessKeeper:
    """Keeps the commands of one machine; `clock` tells seconds that only go forward."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._records = ProcessRecords(folder)
        self._keepers = DispatchLocks(folder / "keepers")
        self._leftovers = Leftovers(self._records, self._keepers)
        self._clock = clock
        self._name = f"keeper-{uuid.uuid4().hex}"
        self._lock: DispatchLock | None = None
        self._kept: dict[str, Kept] = {}
        self._closed = False
        # Closing waits for a start that is under way, so that it ends that one, too.
        self._starting = asyncio.Lock()

    async def open(self) -> list[str]:
        """Begin to keep commands, and end what killed keepers left; the names of those commands."""
        self._records.prepare()
        self._lock = self._keepers.take(self._name)
        return await asyncio.to_thread(self._leftovers.end_all)

    async def close(self) -> None:
        """Start nothing more and end everything; when this returns nothing of it runs."""
        self._closed = True
        async with self._starting:
            kept = list(self._kept.values())
        for one in kept:
            self.end(one.order.name, Why.RUNTIME)
        if kept:
            await asyncio.wait([one.finished for one in kept], timeout=CLOSING_S)
        for one in kept:
            await self._give_up(one)
        if self._lock is not None:
            self._lock.release()

    def all(self) -> list[Kept]:
        """What is kept now, also what has ended and was not forgotten yet."""
        return list(self._kept.values())

    def find(self, name: str) -> Kept | None:
        """The command of an effect, if it is kept here."""
        return self._kept.get(name)

    def idle_s(self, kept: Kept) -> float:
        """Seconds since the command was started or was last given input."""
        return self._clock() - kept.used_at

    def forget(self, name: str) -> None:
        """Let go of a command that has ended."""
        self._kept.pop(name, None)

    def forget_record(self, name: str) -> None:
        """Remove the record of a command's end, once its outcome is stored."""
        self._records.forget_ended(name)

    def ended(self, name: str) -> Json | None:
        """The record of a command's end; None where there is none."""
        return self._records.ended(name)

    def recorded_ends(self) -> list[str]:
        """The commands whose end is written down."""
        return self._records.names_ended()

    def is_running(self, name: str) -> bool:
        """Whether a command has not been seen to end, whoever keeps it."""
        return self._records.running(name) is not None

    async def launch(self, order: Order, folder: int) -> Kept:
        """Start a command in the open working folder; it runs when this returns.

        Raises:
            KeeperClosed: nothing is started any more.
            NotStarted: it did not begin.
        """
        async with self._starting:
            if self._closed or self._lock is None:
                raise KeeperClosed
            kept = await self._supervised(order, folder)
        begun: set[asyncio.Future[Any]] = {kept.started, kept.finished}
        await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
        record = kept.finished.result() if kept.finished.done() else None
        if not kept.started.done() and record is not None and record["how"] == "not_started":
            self.forget(order.name)
            raise NotStarted(str(record["reason"]))
        return kept

    async def _supervised(self, order: Order, folder: int) -> Kept:
        loop = asyncio.get_running_loop()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-P", "-m", "adapters.process_supervisor",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            cwd="/", env={"PYTHONPATH": _PACKAGES}, start_new_session=True, pass_fds=(folder,), limit=_LINE_BYTES,
        )  # fmt: skip
        kept = Kept(order, self._clock(), process, loop.create_future(), loop.create_future())
        self._kept[order.name] = kept
        kept.listening = asyncio.create_task(self._listen(kept))
        self._say(kept, self._order(order, folder))
        return kept

    async def wait(self, kept: Kept) -> Json | None:
        """Wait for a command's end; None when it is not known how it ended, but nothing of it runs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(kept.order.timeout_s + GRACE_S + OVERTIME_S):
                await asyncio.wait({kept.finished})
        await self._give_up(kept)
        self.forget(kept.order.name)
        return kept.finished.result()

    async def converse(self, kept: Kept, text: bytes, wait_s: float) -> Json | None:
        """Give a command text to read and return its output since the last time.

        Args:
            kept: an interactive command.
            text: what it gets.
            wait_s: longest wait for output; it ends as soon as output has come and paused.

        Returns:
            `stdout` and `stderr`; with `how` and the exit when the command has ended; None when nothing is known.
        """
        async with kept.speaking:
            kept.used_at = self._clock()
            kept.answer = asyncio.get_running_loop().create_future()
            self._say(kept, {"wish": "input", "text": base64.b64encode(text).decode(), "wait_s": wait_s})
            awaited: set[asyncio.Future[Any]] = {kept.answer, kept.finished}
            await asyncio.wait(awaited, timeout=wait_s + OVERTIME_S, return_when=asyncio.FIRST_COMPLETED)
            if kept.answer.done():
                return kept.answer.result()
            return kept.finished.result() if kept.finished.done() else None

    def end(self, name: str, why: Why) -> None:
        """Have a command end, politely first (S6); its end comes by itself."""
        kept = self._kept.get(name)
        if kept is not None and not kept.finished.done():
            self._say(kept, {"wish": "end", "why": why.value})

    async def observe(self, name: str) -> Json | None:
        """How a command ended whose dispatcher is gone; None when nothing proves it, and then nothing of it runs."""
        return await asyncio.to_thread(self._leftovers.end, name)

    def _order(self, order: Order, folder: int) -> Json:
        return {
            "name": order.name,
            "mark": order.name,
            "keeper": self._name,
            "records": str(self._records.folder),
            "program": order.program,
            "argv": list(order.argv),
            "checked": order.checked,
            "seen": list(order.seen),
            "environment": {**order.environment, MARK: order.name},
            "folder": folder,
            "stdin": base64.b64encode(order.stdin).decode(),
            "timeout_s": order.timeout_s,
            "interactive": order.interactive,
            "confined": order.action.permissions.confined,
            "grace_s": GRACE_S,
            "keep_bytes": OUTPUT_BYTES,
        }

    @staticmethod
    def _say(kept: Kept, fields: Json) -> None:
        writer = kept.process.stdin
        if writer is not None and not writer.is_closing():
            with suppress(ConnectionError):
                writer.write(json.dumps(fields).encode() + b"\n")

    async def _listen(self, kept: Kept) -> None:
        """Hear what a command's supervising process says until it is gone."""
        reader = kept.process.stdout
        while reader is not None and (line := await reader.readline()):
            event = json.loads(line)
            if event["event"] == "started":
                kept.started.set_result(None)
            elif event["event"] == "output" and kept.answer is not None and not kept.answer.done():
                kept.answer.set_result(event)
        await kept.process.wait()
        if kept.process.stdin is not None:
            kept.process.stdin.close()
            with suppress(ConnectionError):
                await kept.process.stdin.wait_closed()
        # Nothing is left behind even where the supervising process itself was killed.
        kept.finished.set_result(await self.observe(kept.order.name))

    async def _give_up(self, kept: Kept) -> None:
        """End a supervising process that does not come to its end, and what it stood over."""
        if not kept.finished.done():
            with suppress(ProcessLookupError):
                kept.process.kill()
        if kept.listening is not None:
            await kept.listening
