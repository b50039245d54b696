"""Imports of a legacy ledger that are killed at every point: `python -m tests.host.legacy_victim FOLDER`.

Everything is loaded once; each point is a child that kills itself there with SIGKILL, in a home of its own under the
folder. One line per point tells how the child ended.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from host import legacy_copy, legacy_ledger
from runtime.settings import Settings
from store import audit, legacy_import, schema
from tests.legacy_files import build_with_wal


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: object, name: str, call: int = 1) -> None:
    """Die when this function is called for the `call`-th time."""
    real: Callable[..., Any] = getattr(owner, name)
    calls = []

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        return die() if len(calls) == call else real(*given, **named)

    setattr(owner, name, counted)


POINTS: dict[str, Callable[[], None]] = {
    "half copied": lambda: before(legacy_copy, "_copy", 2),
    "copied": lambda: before(legacy_ledger, "open_source"),
    "before the schema": lambda: before(schema, "prepare"),
    "before the settings": lambda: before(legacy_import, "_insert", 1),
    "before the actions": lambda: before(legacy_import, "_insert", 2),
    "before the audit": lambda: before(legacy_import, "_insert", 3),
    "before the chain": lambda: before(audit, "record_all"),
    "before the commit": lambda: before(legacy_copy.FrozenLedger, "is_current"),
    "committed": lambda: before(legacy_ledger, "_report"),
    "before the clean-up": lambda: before(shutil, "rmtree", 2),
}
COMMITTED = frozenset({"committed", "before the clean-up"})


def settings_of(folder: Path, point: str) -> Settings:
    return Settings(home=folder / point.replace(" ", "-"), composition_profile="personal")


def main(folder: Path) -> None:
    for point, arm in POINTS.items():
        settings = settings_of(folder, point)
        settings.state_dir.mkdir(parents=True)
        build_with_wal(settings.state_dir)
        digest = asyncio.run(legacy_ledger.inspect_ledger(settings))["source_digest"]
        child = os.fork()
        if child == 0:
            try:
                arm()
                asyncio.run(legacy_ledger.apply_ledger(settings, digest))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{point}: {os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
