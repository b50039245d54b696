"""How long records of firings are kept (U8): of each automation a bounded number, and of what is old only the last.

The hard thing is that records answer questions: a time that is decided has one (U5), a notice names the one it is about
(U6). So nothing is forgotten that has not ended, that something refers to, or that Temporal may still ask about.
"""

from datetime import timedelta
from typing import Final

KEPT: Final = 1_000
"""Newest records of an automation, by nominal time."""

KEPT_ALWAYS: Final = 50
"""So many of them whatever their age: a yearly automation shows its last runs, too. None of one that is deleted."""

KEPT_FOR: Final = timedelta(days=365)
"""What is neither of the newest is kept for so long, counted from its nominal time."""

KEPT_AT_LEAST: Final = timedelta(days=1)
"""Every record: a schedule of every second makes a thousand in a quarter of an hour, and its firings, or a worker that
was away for a while, may still ask for theirs."""
