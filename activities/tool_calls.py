"""Carrying out tool calls (T4): each is answered once, in the transaction that does what it asks for.

What a model gets wrong (an unknown tool, broken arguments, a refusal) is an answer to the model, never an error of
the run.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from activities.file_tools import copy_artifacts, list_files, read_file, submit_with
from activities.scopes import scope_of
from activities.shared_tools import SHARED_TOOLS
from adapters.file_access import FileAccessError
from adapters.files_root import FilesRoot
from adapters.managed_files import ManagedFiles
from assistant.tool_arguments import Arguments, ListFiles, ReadFile, SubmitResult
from assistant.tools import find_tool, parse_arguments, tool_error
from contracts.run import RunPoint
from domain.refusal import Refusal, Refused, accepted
from domain.run import Bounds, Following, Place, RunKind, RunRef
from store import run_steps
from store.database import Database, Scope, Transaction
from store.tables_work import CallRow

Work = Callable[[Transaction, Arguments], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Answers the calls of runs. Without `files`, which are those of `scope`, only calls that need nothing but SQL."""

    database: Database
    bounds: Bounds
    files: FilesRoot | None = None
    managed: ManagedFiles | None = None
    scope: Scope | None = None

    def can_answer(self, run: RunRef, following: Following) -> bool:
        """Whether what follows in a run is a call that this process can answer without any other."""
        if following.kind != "call":
            return False
        return following.place is Place.SHARED or (following.place is Place.FILES and scope_of(run) == self.scope)

    async def answer(self, run: RunRef, following: Following) -> Following:
        """Answer the call that follows, in the step of the model that made it."""
        point = RunPoint(run=run, step=following.step, index=following.index)
        return await (self.shared(point) if following.place is Place.SHARED else self.on_files(point))

    async def shared(self, point: RunPoint) -> Following:
        """Answer a call that only touches SQL."""

        async def work(tx: Transaction, arguments: Arguments) -> str | None:
            call = await run_steps.call_row(tx, point.run.run_id, point.step, point.index)
            return await SHARED_TOOLS[call.name](tx, point, arguments)

        async with self.database.write(scope_of(point.run)) as tx:
            return await self._answer(tx, point, work)

    async def on_files(self, point: RunPoint) -> Following:
        """Answer a call that reads this machine's files, outside of any transaction, then store the answer."""
        async with self.database.read_briefly(scope_of(point.run)) as tx:
            following = await run_steps.following(tx, point.run, self.bounds)
            if not _is_next(following, point):
                return following
            call = await run_steps.call_row(tx, point.run.run_id, point.step, point.index)
        try:
            answer: Work | Refusal = await self._look(point, accepted(_arguments(point.run, call)))
        except Refused as refused:
            answer = refused.refusal
        except FileAccessError:
            answer = Refusal("invalid_params", "The files could not be read: the system refused or failed. Try again.")
        async with self.database.write(scope_of(point.run)) as tx:
            return await self._answer(tx, point, answer)

    async def _look(self, point: RunPoint, arguments: Arguments) -> Work:
        if self.files is None or self.managed is None:
            raise AssertionError("this worker serves no files")
        if isinstance(arguments, SubmitResult):
            artifacts = await copy_artifacts(self.managed, point, arguments)
            summary = arguments.summary
            return lambda tx, _: submit_with(tx, point.run, summary, artifacts)
        if isinstance(arguments, ReadFile):
            found = await read_file(self.files, arguments)
        elif isinstance(arguments, ListFiles):
            found = await list_files(self.files, arguments)
        else:
            raise AssertionError("this call needs no files")

        async def say(_tx: Transaction, _arguments: Arguments) -> str:
            return found

        return say

    async def _answer(self, tx: Transaction, point: RunPoint, work: Work | Refusal) -> Following:
        """Store the call's answer if the call is still the one that follows; what follows then."""
        run = point.run
        steps = await run_steps.steps_of_run(tx, run)
        following = await run_steps.following(tx, run, self.bounds, steps)
        if not _is_next(following, point):
            return following
        call = await run_steps.call_row(tx, run.run_id, point.step, point.index)
        try:
            # A refusal takes back what the tool had begun, not the answer that says so.
            async with tx.session.begin_nested():
                answer = await accepted(work)(tx, accepted(_arguments(run, call)))
        except Refused as refused:
            answer = tool_error(refused.refusal)
        if answer is not None:
            await run_steps.finish_call(tx, run.run_id, point.step, point.index, answer)
        return await run_steps.following(tx, run, self.bounds, steps)


def _is_next(following: Following, point: RunPoint) -> bool:
    return following.kind == "call" and (following.step, following.index) == (point.step, point.index)


def _arguments(run: RunRef, call: CallRow) -> Arguments | Refusal:
    spec = find_tool(call.name, "executor" if run.kind is RunKind.ATTEMPT else "main")
    if spec is None:
        return Refusal("method_not_found", "There is no such tool here. Use one of the tools that are offered.")
    return parse_arguments(spec, call.arguments)
