"""The agent loop's activities: thin, over model steps, tool calls and effect proposals."""

import asyncio

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.effect_proposal import EffectProposals
from activities.heartbeat import beating
from activities.model_steps import TRIES_OF_A_BUG, ModelSteps
from activities.scopes import scope_of
from activities.tool_calls import ToolCalls
from contracts.options import FILES_STEP_TIMEOUT
from contracts.run import RunActivities, RunPoint
from domain.run import Bounds, Following, RunRef
from store import run_steps
from store.database import Database

CALL_TIMEOUT_S = FILES_STEP_TIMEOUT.total_seconds()
"""A call inside a model step has as long as one in an activity of its own; then the step is tried again."""


class RunWork(RunActivities):
    """What one process does of runs: the host has model steps that stream, a worker the rest."""

    def __init__(
        self,
        database: Database,
        bounds: Bounds,
        model_steps: ModelSteps,
        tool_calls: ToolCalls,
        proposals: EffectProposals | None = None,
    ) -> None:
        self._database = database
        self._bounds = bounds
        self._model_steps = model_steps
        self._tool_calls = tool_calls
        self._proposals = proposals

    @activity.defn(name="run.position")
    async def position(self, run: RunRef) -> Following:
        """Read what follows in the run."""
        async with self._database.read_briefly(scope_of(run)) as tx:
            return await run_steps.following(tx, run, self._bounds)

    @activity.defn(name="run.model_step")
    async def model_step(self, point: RunPoint) -> Following:
        """Ask the model once and answer the calls that need no other process; what is stored is reused (T10, C4)."""
        try:
            following = await self._model_steps.run(point)
            # Answered here: no event in the history, no way back to a worker (T18).
            while self._tool_calls.can_answer(point.run, following):
                async with beating(), asyncio.timeout(CALL_TIMEOUT_S):
                    following = await self._tool_calls.answer(point.run, following)
            return following
        except Exception as error:
            if activity.info().attempt < TRIES_OF_A_BUG:
                raise
            activity.logger.error("the model step failed for good: %s", type(error).__name__)
            return Following(kind="fail", reason="turn_failed")

    @activity.defn(name="run.shared_call")
    async def shared_call(self, point: RunPoint) -> Following:
        """Carry out a tool call that only touches SQL."""
        return await self._tool_calls.shared(point)

    @activity.defn(name="run.files_call")
    async def files_call(self, point: RunPoint) -> Following:
        """Carry out a tool call that reads this machine's files, or copies artifacts."""
        async with beating():
            return await self._tool_calls.on_files(point)

    @activity.defn(name="run.propose_effect")
    async def propose_effect(self, point: RunPoint) -> Following:
        """Turn a call into an effect with its card (E1-E3), or store its refusal."""
        if self._proposals is None:
            raise ApplicationError("this worker serves no files", type="wrong_queue")
        async with beating():
            await self._proposals.propose(point)
            return await self.position(point.run)
