"""What a worker that was killed may have left running (E15, I6): found by its records, ended for certain.

The hard thing is whose it is. A command belongs to the keeper that started it as long as that keeper's lock is held; a
process is only ever killed by pid together with start time and boot, or by the mark that its command gave it.
"""

import os
import signal
import time
from typing import Any, Final

from adapters.dispatch_lock import DispatchLocks
from adapters.process_records import ProcessRecords
from adapters.process_tree import Identity, boot_id, descendants, is_alive, marked, send_all

Json = dict[str, Any]
PATIENCE_S: Final = 15.0
"""How long a supervising process that has lost its worker may take to end its command itself."""
LOOK_AGAIN_S: Final = 0.02


class Leftovers:
    """Ends what nobody keeps any more. All methods block."""

    def __init__(self, records: ProcessRecords, keepers: DispatchLocks) -> None:
        self._records = records
        self._keepers = keepers

    def end_all(self) -> list[str]:
        """End every command whose keeper is gone; their names."""
        ended = []
        for name in self._records.names_running():
            record = self._records.running(name)
            if record is not None and self._is_abandoned(record):
                self.end(name)
                ended.append(name)
        return ended

    def end(self, name: str, patience_s: float = PATIENCE_S) -> Json | None:
        """Wait until a command has ended, kill what is left of it after that; its record, None where there is none."""
        deadline = time.monotonic() + patience_s
        while (record := self._records.running(name)) is not None:
            if not _runs(record, "supervisor") or time.monotonic() >= deadline:
                # Read once more: it may have written its last record just before it ended.
                if self._records.ended(name) is None:
                    _kill(record)
                self._records.forget_running(name)
                break
            time.sleep(LOOK_AGAIN_S)
        return self._records.ended(name)

    def _is_abandoned(self, record: Json) -> bool:
        lock = self._keepers.take(str(record["keeper"]))
        if lock is not None:
            lock.release()
        return lock is not None


def _runs(record: Json, which: str) -> bool:
    process = record.get(which)
    return process is not None and record.get("boot") == boot_id() and is_alive(_identity(process))


def _kill(record: Json) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        roots = [_identity(record[which])[0] for which in ("supervisor", "command") if _runs(record, which)]
        found = {*roots, *(pid for root in roots for pid, _ in descendants(root)), *marked(str(record["mark"]))}
        found.discard(os.getpid())
        if not found:
            return
        send_all(found, signal.SIGSTOP)
        send_all(found, signal.SIGKILL)
        time.sleep(LOOK_AGAIN_S)


def _identity(process: list[int]) -> Identity:
    pid, started = process
    return pid, started
