"""Effects of kind `command` (E15, E16): what was allowed is resolved again, run once, and its end told as it was.

What runs is what the action's digest covers: program, folder, environment and input are compared with it at the last
moment, and the supervising process compares the program once more.
"""

import asyncio
import hashlib
from typing import Any

import structlog
from pydantic import ValidationError

from activities.command_results import input_outcome, run_outcome
from adapters.command_resolution import CommandResolution, Program
from adapters.confinement import Confinement
from adapters.file_access import FileAccessError
from adapters.process_keeper import ProcessKeeper
from adapters.process_launch import CHANGED
from adapters.process_order import KeeperClosed, Kept, NotStarted, Order
from domain.command_action import (
    CommandAction,
    CommandInput,
    Environment,
    Permissions,
    ProcessInputAction,
    command_action,
    effect_of,
    process_of,
)
from domain.effect import EffectEvent
from domain.process_end import Why
from domain.refusal import Refusal, Refused, refuse
from store.action_digest import action_digest
from store.effect_ends import UNKNOWN, Outcome
from store.tables_authority import EffectRow

FIRST_OUTPUT_S = 1.0
"""How long an interactive command may take to say something before its start is told."""
OUTPUT_WAIT_S = 10.0
"""Longest wait for what a command says to an input; it is over sooner when the command has spoken and pauses."""
END_AGAIN_S = 0.2
CHANGED_WORDS = "The program, its folder or its confinement is not as it was when this was proposed. Propose it again."
log = structlog.get_logger(__name__)


class CommandEffect:
    """Carries out commands and input to them on one machine.

    `network` says whether confined commands may use the network.
    """

    def __init__(
        self, resolution: CommandResolution, confinement: Confinement, keeper: ProcessKeeper, *, network: bool
    ) -> None:
        self._resolution = resolution
        self._confinement = confinement
        self._keeper = keeper
        self._network = network

    @property
    def permissions(self) -> Permissions:
        """What a command may reach here now (E16): the network without confinement, else where it is permitted."""
        confined = self._confinement.works
        return Permissions(network=self._network or not confined, confined=confined)

    async def policy(self, effect: EffectRow) -> Refusal | None:
        """Look whether exactly this may run here now (E3, E16); None is a yes. What cannot be told is a no."""
        try:
            action = command_action(effect.action)
            if isinstance(action, ProcessInputAction):
                self.process(action.process_id, effect.run_id)
            else:
                await asyncio.to_thread(self._checked, action, effect.content)
        except Refused as refused:
            return refused.refusal
        except (FileAccessError, ValueError):
            return Refusal("precondition_changed", CHANGED_WORDS)
        return None

    async def perform(self, effect: EffectRow) -> Outcome:
        """Run it to its end, or until it waits for input; a stop, a time-out and the worker's end kill it (S6)."""
        running = asyncio.ensure_future(self._perform(effect))
        given_up = False
        while not running.done():
            try:
                await asyncio.wait({running}, timeout=END_AGAIN_S if given_up else None)
            except asyncio.CancelledError:
                given_up = True
            if given_up:
                # A command nobody waits for must not go on; it may be known to the keeper only in a moment.
                self._keeper.end(effect.effect_id, Why.RUNTIME)
        return running.result()

    async def observe(self, effect: EffectRow) -> Outcome:
        """Say what became of a command whose dispatcher is dead, by the record of its end (E13); it runs no more."""
        if isinstance(command_action(effect.action), ProcessInputAction):
            return UNKNOWN
        record = await self._keeper.observe(effect.effect_id)
        return UNKNOWN if record is None else run_outcome(record, stop_code(effect))

    def process(self, process_id: str, run_id: str) -> Kept:
        """The running command of that id that this run has started.

        Raises:
            Refused: `not_found` when there is none, it has ended, or another run's is meant.
        """
        kept = self._keeper.find(effect_of(process_id) or "")
        if kept is None or kept.order.run_id != run_id or not kept.order.interactive or kept.finished.done():
            raise refuse("not_found", "No such running command. It may have ended; start it again if it is needed.")
        return kept

    async def _perform(self, effect: EffectRow) -> Outcome:
        action = command_action(effect.action)
        try:
            if isinstance(action, ProcessInputAction):
                return await self._send(effect, action)
            return await self._run(effect, action)
        except Refused as refused:
            return Outcome(EffectEvent.FAIL, refused.refusal)
        except FileAccessError as error:
            reason = Refusal("protected_path", f"The file system did not let it start ({error.reason}). Nothing ran.")
            return Outcome(EffectEvent.FAIL, reason)
        except KeeperClosed:
            return Outcome(EffectEvent.FAIL, Refusal("runtime_restarted", "Steward was ending. Nothing ran."))
        except NotStarted as failure:
            return Outcome(EffectEvent.FAIL, _not_started(failure.reason))

    async def _run(self, effect: EffectRow, action: CommandAction) -> Outcome:
        program, given = await asyncio.to_thread(self._checked, action, effect.content)
        with self._resolution.files.open_folder(self._resolution.relative(action.cwd)) as folder:
            kept = await self._keeper.launch(self._order(effect, action, program, given), folder)
        log.info("command_started", effect=effect.effect_id)
        if action.interactive and not kept.finished.done():
            said = await self._keeper.converse(kept, b"", FIRST_OUTPUT_S)
            if said is not None and "how" not in said:
                return input_outcome(said, process_of(effect.effect_id))
        record = await self._keeper.wait(kept)
        return UNKNOWN if record is None else run_outcome(record, stop_code(effect))

    async def _send(self, effect: EffectRow, action: ProcessInputAction) -> Outcome:
        kept = self.process(action.process_id, effect.run_id)
        text = effect.content or b""
        if hashlib.sha256(text).hexdigest() != action.text_sha256:
            raise refuse("precondition_changed", CHANGED_WORDS)
        said = await self._keeper.converse(kept, text, OUTPUT_WAIT_S)
        return UNKNOWN if said is None else input_outcome(said, action.process_id)

    def _checked(self, action: CommandAction, content: bytes | None) -> tuple[Program, CommandInput]:
        given = _values(content)
        resolution, permissions = self._resolution, action.permissions
        if permissions.confined and not self._confinement.works:
            raise refuse("not_confined", "Commands cannot be confined here any more. Propose it again.")
        folder = resolution.folder(resolution.relative(action.cwd))
        program = resolution.program(action.argv[0], folder)
        if not permissions.confined:
            resolution.refuse_protected((*action.argv, *given.environment.values(), given.stdin), folder)
        unchanged = (
            permissions == self.permissions
            and (program.path, program.sha256) == (action.executable.path, action.executable.sha256)
            and environment_of(given) == action.environment
            and hashlib.sha256(given.stdin.encode()).hexdigest() == action.stdin_sha256
        )
        if not unchanged:
            raise refuse("precondition_changed", CHANGED_WORDS)
        return program, given

    def _order(self, effect: EffectRow, action: CommandAction, program: Program, given: CommandInput) -> Order:
        runs: dict[str, Any] = {"program": program.path, "argv": action.argv}
        if action.permissions.confined:
            network = action.permissions.network
            wrapped = self._confinement.wrap(program.found, action.argv, action.cwd, network=network)
            runs = {"program": self._confinement.program, "argv": wrapped}
        return Order(
            name=effect.effect_id,
            run_id=effect.run_id,
            action=action,
            checked=program.path,
            seen=program.seen,
            environment=given.environment,
            stdin=given.stdin.encode(),
            timeout_s=given.timeout_s,
            **runs,
        )


def environment_of(given: CommandInput) -> Environment:
    """The names and the digest of the values that a command gets (E2)."""
    return Environment(names=tuple(sorted(given.environment)), sha256=action_digest(dict(given.environment)))


def stop_code(effect: EffectRow) -> str:
    """The code that says that a stop ended an effect."""
    return "turn_stopped" if effect.task_id is None else "task_stopping"


def _values(content: bytes | None) -> CommandInput:
    try:
        return CommandInput.read(content or b"")
    except ValidationError:
        raise refuse("precondition_changed", CHANGED_WORDS) from None


def _not_started(reason: str) -> Refusal:
    if reason == CHANGED:
        return Refusal("precondition_changed", CHANGED_WORDS)
    if reason == "not_confined":
        return Refusal("not_confined", "The command could not be confined, so it was not run.")
    return Refusal("invalid_params", f"The operating system did not run this program ({reason}). Nothing ran.")
