"""When a running command has to end before it does so itself (E15, S6, S11)."""

from enum import StrEnum
from typing import Final

IDLE_LIMIT_S: Final = 30 * 60.0
"""Seconds without input after which an interactive command is killed."""


class Why(StrEnum):
    """Why a command was ended: a stop covers it, its run is over, nobody used it, or its worker ends."""

    STOPPED = "stopped"
    RUN_ENDED = "run_ended"
    IDLE = "idle"
    RUNTIME = "runtime"


def why_to_end(*, stopped: bool, live: bool, interactive: bool, idle_s: float) -> Why | None:
    """Say why a command must end now; None when it may go on.

    Args:
        stopped: a stop covers the turn, or the task or an ancestor of it.
        live: the turn with its continuations, or the attempt, has not ended.
        interactive: it waits for input.
        idle_s: seconds since it was started or last given input.
    """
    if stopped:
        return Why.STOPPED
    if not live:
        return Why.RUN_ENDED
    return Why.IDLE if interactive and idle_s >= IDLE_LIMIT_S else None
