"""From a model's call to an exact action (E1-E3), by the kind of what it asks for.

What cannot become an action is answered at once, without a card: the call's result is the refusal.
"""

import asyncio

from activities.command_proposal import CommandProposals
from activities.file_proposal import FileProposals
from activities.scopes import scope_of
from adapters.file_access import FileAccessError
from adapters.files_root import FilesRoot
from assistant.tool_arguments import EditFile, ProcessInput, RunCommand, WriteFile
from assistant.tools import find_tool, parse_arguments, tool_error
from contracts.run import RunPoint
from domain.refusal import Refusal, Refused, accepted, refuse
from domain.run import RunKind
from store import audit, effects
from store.database import Database, Transaction
from store.effects import Proposal
from store.gate import GateLimits
from store.run_steps import call_row, finish_call
from store.tables_work import CallRow


class EffectProposals:
    """Turns calls of runs into effects, on the machine that holds the files; without `commands` only those on files."""

    def __init__(
        self, database: Database, root: FilesRoot, limits: GateLimits, commands: CommandProposals | None = None
    ) -> None:
        self._database = database
        self._files = FileProposals(root)
        self._limits = limits
        self._commands = commands

    async def propose(self, point: RunPoint) -> None:
        """Make a call an effect with its card, or its result the refusal; repeated, it changes nothing (E14)."""
        scope = scope_of(point.run)
        async with self._database.read_briefly(scope) as tx:
            call = await call_row(tx, point.run.run_id, point.step, point.index)
        if _done(call):
            return
        prepared = await asyncio.to_thread(self._prepare, point, call)
        async with self._database.write(scope) as tx:
            if _done(await call_row(tx, point.run.run_id, point.step, point.index)):
                return
            if isinstance(prepared, Refusal):
                await _refuse(tx, point, prepared)
            else:
                await effects.propose(tx, prepared, self._limits)

    def _prepare(self, point: RunPoint, call: CallRow) -> Proposal | Refusal:
        try:
            return self._proposal(point, call)
        except Refused as refused:
            return refused.refusal
        except FileAccessError as error:
            return Refusal("protected_path", f"The file system does not say what is at the path ({error.reason}).")

    def _proposal(self, point: RunPoint, call: CallRow) -> Proposal:
        spec = find_tool(call.name, "main" if point.run.kind is RunKind.TURN else "executor")
        if spec is None:
            raise refuse("invalid_params", "There is no such tool. Use one of those that are offered.")
        arguments = accepted(parse_arguments(spec, call.arguments))
        if isinstance(arguments, WriteFile | EditFile):
            return self._files.proposal(point, arguments)
        if self._commands is not None and isinstance(arguments, RunCommand):
            return self._commands.running(point, arguments)
        if self._commands is not None and isinstance(arguments, ProcessInput):
            return self._commands.sending(point, arguments)
        raise refuse("invalid_params", "This tool has no effect that could be done here.")


def _done(call: CallRow) -> bool:
    return call.result is not None or call.effect_id is not None


async def _refuse(tx: Transaction, point: RunPoint, refusal: Refusal) -> None:
    run = point.run
    await finish_call(tx, run.run_id, point.step, point.index, tool_error(refusal))
    await audit.record(
        tx, "effect.policy", run.run_id, "deny", principal="host", code=refusal.code,
        details={"step": point.step, "index": point.index},
    )  # fmt: skip
