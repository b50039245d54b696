"""One model step (T10, C4, O3): asked once, stored once, streamed while it is written, given up in bounded time.

The hard thing is a late answer: between the question and the storing a stop, another worker or the run's end may have
come first. What follows is therefore read again in the storing transaction, and an answer that is not wanted any more
is dropped (I7).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from temporalio import activity

from activities.heartbeat import beating
from activities.run_context import ModelCall, Role, model_call
from activities.scopes import scope_of
from activities.stop_watch import StopWatch
from assistant.model_call import NoSink, ReplySink, stream_reply
from assistant.model_errors import ModelUnavailable
from assistant.tool_arguments import SubmitResult
from assistant.tools import find_tool, parse_arguments
from contracts.model_io import ModelReply, ToolCall
from contracts.run import RunPoint
from domain.run import Bounds, Following, Place, RunKind, RunRef
from domain.turn import TurnKind, TurnState
from store import run_steps
from store.database import Database, Transaction
from store.outage import AWAY
from store.task_progress import working
from store.turns import turn_row

if TYPE_CHECKING:
    from pydantic_ai.models import Model

TRIES_OF_A_BUG = 5
"""A step that raises what nobody expected is tried so often before its run fails: it must not hang (O3)."""


class LiveReply(Protocol):
    """A reply under way: what the page has been shown, and the wish to stop it."""

    @property
    def text(self) -> str:
        """What has been shown since the last reset."""

    @property
    def stop_requested(self) -> asyncio.Event:
        """Set when the user wants the reply stopped."""

    def delta(self, text: str) -> None:
        """Show more text."""

    def reset(self) -> None:
        """Forget what was shown."""


class LiveReplies(Protocol):
    """The host's replies under way, by turn id."""

    def open(self, turn_id: str) -> LiveReply:
        """The reply of a turn, begun if it is not there."""


@dataclass(frozen=True, slots=True)
class ModelSteps:
    """Asks models. `live` is the host's; a worker, which shows nothing, has none."""

    database: Database
    models: "Mapping[Role, Model[Any]]"
    bounds: Bounds
    budget_tokens: int
    silence_timeout_s: float
    delivery_wait_s: float
    stops: StopWatch
    live: LiveReplies | None = None

    async def run(self, point: RunPoint) -> Following:
        """Ask for the step if it is the one that follows; answer with what follows then."""
        run = point.run
        # Opened before the rows are read: a stop that comes in between finds something to stop.
        live = self.live.open(run.turn_id) if self.live is not None and run.turn_id is not None else None
        async with self.database.read_briefly(scope_of(run)) as tx:
            steps = await run_steps.steps_of_run(tx, run)
            following = await run_steps.following(tx, run, self.bounds, steps)
            if following.kind != "model" or following.step != point.step:
                return following
            call = await model_call(tx, run, steps, self.budget_tokens)
        async with beating(self._progress(run)):
            try:
                sink = NoSink() if live is None else LiveSink(live, call.said_before)
                return await self._ask_and_store(run, following.step, call, sink)
            except ModelUnavailable as unavailable:
                activity.logger.warning("model unavailable: %s", unavailable.reason)
                return Following(kind="fail", reason=unavailable.code)

    async def _ask_and_store(self, run: RunRef, step: int, call: ModelCall, sink: "LiveSink | NoSink") -> Following:
        with self.stops.watching(run) as covered:
            stops = [covered, sink.live.stop_requested] if isinstance(sink, LiveSink) else [covered]
            reply = await self._reply(call, sink, stops)
        async with self.database.write(scope_of(run)) as tx:
            steps = await run_steps.steps_of_run(tx, run)
            following = await run_steps.following(tx, run, self.bounds, steps)
            if following.kind == "ended" and isinstance(sink, LiveSink):
                await _keep_partial(tx, run, sink.partial)
            if reply is None or following.kind != "model" or following.step != step:
                return following
            places = [_place(run, tool_call) for tool_call in reply.calls]
            record = call.context.record.model_dump(mode="json")
            stored = await run_steps.store_step(tx, run, step, reply, places, record)
            return await run_steps.following(tx, run, self.bounds, [*steps, stored])

    async def _reply(self, call: ModelCall, sink: ReplySink, stops: Sequence[asyncio.Event]) -> ModelReply | None:
        """The model's answer, the stored text instead of it where a delivery may not wait longer; None when stopped."""
        asked = stream_reply(
            self.models[call.role], call.context, call.tools, silence_timeout_s=self.silence_timeout_s, sink=sink
        )
        if call.without_model is None:
            return await _unless(stops, asked)
        try:
            async with asyncio.timeout(self.delivery_wait_s):
                return _without_calls(await _unless(stops, asked))
        except (ModelUnavailable, TimeoutError):
            activity.logger.warning("delivered without a model")
            await sink.reset()
            await sink.delta(call.without_model)
            return ModelReply(text=call.without_model, response_json="", model="none")

    def _progress(self, run: RunRef) -> "_Progress | None":
        return _Progress(self.database, run) if run.kind is RunKind.ATTEMPT else None


@dataclass(slots=True)
class _Progress:
    """Says every 10 s that a task's model is still at work (T17)."""

    database: Database
    run: RunRef

    async def __call__(self) -> None:
        # A beat that cannot be shown is no reason to lose the answer that is being written.
        with suppress(*AWAY):
            async with self.database.write(scope_of(self.run)) as tx:
                await working(tx, self.run, every=timedelta(seconds=10))


@dataclass(slots=True)
class LiveSink:
    """Streams one step of a turn behind what the turn has said before; a repeated step never doubles text (C4)."""

    live: LiveReply
    said_before: str
    _pieces: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Show exactly what was said before: after a crash the page may have been shown more, or nothing."""
        if self.live.text != self.said_before:
            self._start_over()

    @property
    def partial(self) -> str:
        """What this step has said so far."""
        return "".join(self._pieces)

    async def delta(self, text: str) -> None:
        """Show more of this step; it is set apart from the step before."""
        if not self._pieces and self.said_before:
            self.live.delta("\n\n")
        self._pieces.append(text)
        self.live.delta(text)

    async def reset(self) -> None:
        """Take this step's text back."""
        self._pieces.clear()
        self._start_over()

    def _start_over(self) -> None:
        self.live.reset()
        self.live.delta(self.said_before)


async def _keep_partial(tx: Transaction, run: RunRef, said: str) -> None:
    """Keep what a stopped reply had shown for its end, also when the answer came just in time (S8)."""
    turn = await turn_row(tx, run.turn_id or "")
    if turn.state == TurnState.RUNNING.value and turn.kind != TurnKind.DELIVERY.value:
        turn.partial_text = said


def _without_calls(reply: ModelReply | None) -> ModelReply | None:
    """A delivery's reply: words alone. Calls were not offered and are dropped, whoever talked the model into them (D4).

    Raises:
        ModelUnavailable: there are no words.
    """
    if reply is None or not reply.calls:
        return reply
    if not reply.text.strip():
        raise ModelUnavailable("malformed")
    return reply.model_copy(update={"calls": (), "response_json": ""})


async def _unless(stops: Sequence[asyncio.Event], asked: Any) -> ModelReply | None:  # noqa: ANN401 - a coroutine
    """Await the answer, or abandon it as soon as a stop is wanted."""
    answer: asyncio.Task[ModelReply] = asyncio.ensure_future(asked)
    stopped = [asyncio.ensure_future(stop.wait()) for stop in stops]
    try:
        await asyncio.wait([answer, *stopped], return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        for task in (answer, *stopped):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def _place(run: RunRef, call: ToolCall) -> Place:
    """Where a call belongs; an unknown tool or broken arguments are answered with an error where SQL is enough."""
    spec = find_tool(call.name, "executor" if run.kind is RunKind.ATTEMPT else "main")
    if spec is None:
        return Place.SHARED
    if spec.kind == "effect":
        return Place.EFFECT
    arguments = parse_arguments(spec, call.arguments)
    # A result may name artifacts, which are copied from this machine's files.
    copies = isinstance(arguments, SubmitResult) and bool(arguments.artifacts)
    reads_files = spec.name in ("read_file", "list_files") or copies
    return Place.FILES if reads_files else Place.SHARED
