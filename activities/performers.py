"""Who does which kind of effect (E1): the one place where an effect's kind is looked at on its way.

Files are done by short blocking work in a thread; a command may take an hour, so it is waited for without one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from domain.effect import EffectKind
from domain.refusal import Refusal, Refused
from store.effect_ends import UNKNOWN, Outcome
from store.tables_authority import EffectRow

T = TypeVar("T")
_NOBODY = Refusal("policy_denied", "Nothing on this machine does effects of this kind.")


class Performer(Protocol):
    """Does one kind of effect; every method may block and takes the action's fields."""

    def policy(self, fields: dict[str, Any]) -> Refusal | None:
        """The resource policy's answer, None for a yes (E3)."""

    def perform(self, fields: dict[str, Any], content: bytes) -> Outcome:
        """Do it once."""

    def observe(self, fields: dict[str, Any]) -> Outcome:
        """Say what became of it, from what can be seen; unknown where that proves nothing (E13)."""


class LongPerformer(Protocol):
    """Does one kind of effect that may take long and belongs to its run; no method blocks."""

    async def policy(self, effect: EffectRow) -> Refusal | None:
        """The resource policy's answer, None for a yes (E3)."""

    async def perform(self, effect: EffectRow) -> Outcome:
        """Do it once, to its end: a cancellation makes it end sooner and does not keep its outcome back."""

    async def observe(self, effect: EffectRow) -> Outcome:
        """Say what became of it, from what can be seen; unknown where that proves nothing (E13)."""


class Performers:
    """Has each effect done by the performer of its kind."""

    def __init__(self, files: Performer, commands: LongPerformer | None = None) -> None:
        self._files = files
        self._commands = commands

    async def policy(self, effect: EffectRow) -> Refusal | None:
        """The resource policy's answer about an effect as the world is now (E3)."""
        if effect.kind == EffectKind.FILE:
            return await asyncio.to_thread(self._files.policy, effect.action)
        if self._commands is not None and effect.kind == EffectKind.COMMAND:
            return await self._commands.policy(effect)
        return _NOBODY

    async def perform(self, effect: EffectRow) -> Outcome:
        """Do a started effect once; its outcome is known when this returns, whoever gave up waiting."""
        if effect.kind == EffectKind.FILE:
            return await _to_the_end(lambda: self._files.perform(effect.action, effect.content or b""))
        if self._commands is not None and effect.kind == EffectKind.COMMAND:
            return await self._commands.perform(effect)
        raise Refused(_NOBODY)

    async def observe(self, effect: EffectRow) -> Outcome:
        """Say what became of an effect whose dispatcher is dead (E13)."""
        if effect.kind == EffectKind.FILE:
            return await asyncio.to_thread(self._files.observe, effect.action)
        if self._commands is not None and effect.kind == EffectKind.COMMAND:
            return await self._commands.observe(effect)
        return UNKNOWN


async def _to_the_end(work: Callable[[], T]) -> T:
    """Run blocking work in a thread and wait for its end, whoever gives up waiting for the activity meanwhile.

    A cancellation (time-out, worker shutting down) cannot stop the thread; leaving it would release the lock of an
    effect that is still happening. Its outcome is short to wait for, and it is known here and nowhere else.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({future})
    return future.result()
