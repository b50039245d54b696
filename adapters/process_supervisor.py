"""The process that stands over one command (E13, E15): it starts it, bounds its output, ends it, writes down its end.

`python -S -m adapters.process_supervisor` reads one order from standard input, then wishes, one JSON object a line. The
end of that input is the end of the worker, and then everything it has started is killed: no command outlives it.
"""

import base64
import json
import os
import selectors
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from adapters.process_launch import NotStarted, adopt_orphans, launch
from adapters.process_offspring import Offspring, woken_by_children
from adapters.process_output import BoundedOutput
from adapters.process_records import ProcessRecords
from adapters.process_tree import boot_id, identity

Json = dict[str, Any]
WISHES: Final = 0
TICK_S: Final = 0.2
QUIET_S: Final = 0.25
CHUNK: Final = 65536


class Supervisor:
    """One command from its start to its record."""

    def __init__(self, order: Json, records: ProcessRecords, wishes: bytes) -> None:
        self._order = order
        self._records = records
        self._selector = selectors.DefaultSelector()
        self._outputs: dict[int, BoundedOutput] = {}
        self._out, self._err = self._fresh()
        self._stdin: int | None = None
        self._unsent = bytearray(base64.b64decode(order["stdin"]))
        self._wishes = wishes
        self._offspring = Offspring(0, confined=order["confined"])
        self._why: str | None = None
        self._kill_at: float | None = None
        self._timeout_at: float | None = None
        self._answer_at: float | None = None
        self._heard_at: float | None = None
        self._report = b""
        self._woken = woken_by_children()

    def run(self) -> None:
        """Carry the order out; its end is written down before anybody is told."""
        try:
            self._start()
        except NotStarted as failure:
            self._finish({"how": "not_started", "reason": failure.reason})
            return
        self._tell({"event": "started", "pid": self._offspring.pid})
        while self._offspring.status is None:
            self._wait()
            self._look_at_the_time()
        self._offspring.kill_all()
        self._drain()
        self._finish(self._ended())

    def _start(self) -> None:
        order = self._order
        self._write_running(None)
        reading, stdin = os.pipe()
        out, writing_out = os.pipe()
        err, writing_err = os.pipe()
        kept: tuple[int, ...] = ()
        report = None
        if order["confined"]:
            # Where the confinement reports that the command has begun, and its exit code.
            report, reporting = os.pipe()
            order["argv"][1:1] = ["--json-status-fd", str(reporting)]
            kept = (reporting,)
        try:
            self._offspring.pid = launch(order, (reading, writing_out, writing_err), order["folder"], kept)
        finally:
            for descriptor in (reading, writing_out, writing_err, *kept, order["folder"]):
                os.close(descriptor)
        self._write_running(self._offspring.pid)
        self._stdin = stdin
        for descriptor in (stdin, out, err, *([report] if report is not None else [])):
            os.set_blocking(descriptor, False)
        self._outputs = {out: self._out, err: self._err}
        for descriptor in (WISHES, self._woken, out, err, *([report] if report is not None else [])):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._feed()
        self._obey(b"")
        if not order["interactive"]:
            self._timeout_at = time.monotonic() + order["timeout_s"]

    def _wait(self) -> None:
        for key, _ in self._selector.select(TICK_S):
            descriptor = int(key.fd)
            if descriptor == WISHES:
                self._hear()
            elif descriptor == self._stdin:
                self._feed()
            else:
                self._read(descriptor)
        self._offspring.reap()

    def _look_at_the_time(self) -> None:
        now = time.monotonic()
        if self._timeout_at is not None and now >= self._timeout_at:
            self._end("timeout")
        if self._kill_at is not None and now >= self._kill_at:
            self._offspring.kill_all()
        quiet = self._heard_at is not None and now >= self._heard_at + QUIET_S
        if self._answer_at is not None and (quiet or now >= self._answer_at):
            self._answer()

    def _hear(self) -> None:
        received = os.read(WISHES, CHUNK)
        if not received:
            # The worker is gone: nobody would see a polite end.
            self._selector.unregister(WISHES)
            self._why, self._kill_at = self._why or "abandoned", time.monotonic()
            return
        self._obey(received)

    def _obey(self, received: bytes) -> None:
        *lines, self._wishes = (self._wishes + received).split(b"\n")
        for line in lines:
            wish = json.loads(line)
            if wish["wish"] == "end":
                self._end(wish["why"])
            else:
                self._unsent += base64.b64decode(wish["text"])
                self._answer_at, self._heard_at = time.monotonic() + wish["wait_s"], None
                self._feed()

    def _feed(self) -> None:
        """Pass on what the command is to read, as far as it takes it; end its input when nothing more can come."""
        if self._stdin is None:
            self._unsent.clear()
            return
        waiting = self._stdin in self._selector.get_map()
        try:
            del self._unsent[: os.write(self._stdin, self._unsent) if self._unsent else 0]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()
        if self._unsent and not waiting:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        elif not self._unsent and waiting:
            self._selector.unregister(self._stdin)
        if not self._unsent and not self._order["interactive"]:
            os.close(self._stdin)
            self._stdin = None

    def _read(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(descriptor)
        elif descriptor in self._outputs:
            self._outputs[descriptor].add(data)
            self._heard_at = time.monotonic()
        elif descriptor != self._woken:
            self._report = (self._report + data)[-CHUNK:]
        return bool(data)

    def _end(self, why: str) -> None:
        """Ask everything to end, and kill what has not after a moment (S6)."""
        if self._why is not None:
            return
        self._why, self._timeout_at = why, None
        self._kill_at = time.monotonic() + self._order["grace_s"]
        self._offspring.ask_to_end()

    def _drain(self) -> None:
        """Read what the pipes still hold; nothing can be added any more."""
        for descriptor in [int(key.fd) for key in self._selector.get_map().values()]:
            if descriptor not in (WISHES, self._woken, self._stdin):
                with suppress(OSError):
                    while self._read(descriptor):
                        pass

    def _answer(self) -> None:
        self._answer_at = None
        self._tell({"event": "output", "stdout": self._out.fields(), "stderr": self._err.fields()})
        fresh = self._fresh()
        for descriptor, output in self._outputs.items():
            self._outputs[descriptor] = fresh[0] if output is self._out else fresh[1]
        self._out, self._err = fresh

    def _ended(self) -> Json:
        how = self._why or "exited"
        status = self._offspring.status or 0
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        if self._order["confined"] and how == "exited" and b'"exit-code"' not in self._report:
            # It never came to the command: what the confinement said about that is no output of it.
            return {"how": "not_started", "reason": "not_confined"}
        return {
            "how": how,
            "exit_code": code,
            "signal": signal.Signals(number).name if number in set(signal.Signals) else number,
            "stdout": self._out.fields(),
            "stderr": self._err.fields(),
        }

    def _finish(self, fields: Json) -> None:
        self._records.write_ended(self._order["name"], fields)
        self._tell({"event": "ended"})

    def _write_running(self, pid: int | None) -> None:
        fields = {
            "boot": boot_id(),
            "keeper": self._order["keeper"],
            "mark": self._order["mark"],
            "supervisor": identity(os.getpid()),
            "command": None if pid is None else identity(pid),
        }
        self._records.write_running(self._order["name"], fields)

    def _fresh(self) -> tuple[BoundedOutput, BoundedOutput]:
        """Room for output and error output, which share what is kept."""
        keep = int(self._order["keep_bytes"])
        return BoundedOutput(keep - keep // 4), BoundedOutput(keep // 4)

    @staticmethod
    def _tell(fields: Json) -> None:
        with suppress(BrokenPipeError):
            sys.stdout.buffer.write(json.dumps(fields).encode() + b"\n")
            sys.stdout.buffer.flush()


def main() -> None:
    """Carry out the order on standard input; without a whole one nothing happens."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        # It ends when its command has ended, and its command ends when its worker says so or is gone.
        signal.signal(number, signal.SIG_IGN)
    received = b""
    while b"\n" not in received:
        piece = os.read(WISHES, CHUNK)
        if not piece:
            return
        received += piece
    line, _, wishes = received.partition(b"\n")
    adopt_orphans()
    order = json.loads(line)
    Supervisor(order, ProcessRecords(Path(order["records"])), wishes).run()


if __name__ == "__main__":
    main()
