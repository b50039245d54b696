"""A command that was ordered, and one that is kept: what a keeper is given and what it holds on to (E15)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.command_action import CommandAction

Json = dict[str, Any]


class KeeperClosed(Exception):
    """No command is started any more: the worker is ending."""


class NotStarted(Exception):
    """The command did not begin, and nothing of it ran."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Order:
    """One command to run.

    Attributes:
        name: the effect that wants it; `run_id` the run that it belongs to.
        action: what was allowed.
        program: what is executed with `argv`; `checked` is the file that was hashed and `seen` what it looked like.
        environment: its whole environment.
        timeout_s: seconds until it is ended; an interactive one is not.
    """

    name: str
    run_id: str
    action: CommandAction
    program: str
    argv: tuple[str, ...]
    checked: str
    seen: tuple[int, ...]
    environment: Mapping[str, str]
    stdin: bytes
    timeout_s: float

    @property
    def interactive(self) -> bool:
        """Whether it is kept for input."""
        return self.action.interactive


@dataclass(slots=True, eq=False)
class Kept:
    """A command that was started. `finished` gets its record, None where its supervising process left none."""

    order: Order
    used_at: float
    process: asyncio.subprocess.Process
    started: "asyncio.Future[None]"
    finished: "asyncio.Future[Json | None]"
    answer: "asyncio.Future[Json] | None" = None
    speaking: asyncio.Lock = field(default_factory=asyncio.Lock)
    listening: "asyncio.Task[None] | None" = None
