"""A tiny stand-in for host and worker: python fake_child.py JOURNAL NAME MODE; it tells the journal what it does."""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

JOURNAL, NAME, MODE = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def tell(event: str) -> None:
    with JOURNAL.open("a", encoding="ascii") as file:
        file.write(f"{NAME} {event} {os.getpid()}\n")


def on_terminate(_number: int, _frame: FrameType | None) -> None:
    if MODE == "stubborn":
        tell("ignored")
        return
    tell("stopped")
    os._exit(0)


signal.signal(signal.SIGTERM, on_terminate)
tell("started")
if MODE == "fatal":
    sys.stderr.write("invalid_params: STEWARD_MODEL is wrong.\n")
    sys.exit(78)
if MODE == "dies":
    sys.exit(3)
while True:
    time.sleep(0.5)
