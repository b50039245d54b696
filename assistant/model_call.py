"""One model step: ask, stream, and either return the whole reply or say by a code that there is none (C4, O3).

The hard thing is that a provider may do anything: hang, drop, stream garbage, never stop. Every wait and every size
here is bounded, partial text is withdrawn before another try, and cancellation closes the connection at once.
"""

import asyncio
import time
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from assistant.context import AssembledContext
from assistant.messages import storable, to_messages, to_reply
from assistant.model_errors import AttemptFailed, ModelUnavailable, classify
from assistant.tools import ToolSpec
from contracts.model_io import ModelReply

ATTEMPTS = 3
RETRY_WINDOW_S = 30.0
"""No try begins later than this after the first failure (O3)."""
BACKOFF_S = (0.5, 2.0)

REPLY_TEXT_BYTES = 256 * 1024
REPLY_CALLS = 64
REPLY_CHARACTERS = 4 * 1024 * 1024
"""Everything a stream sends, reasoning included, one character charged for each event: a stream without end ends."""


class ReplySink(Protocol):
    """Where the visible text of a running step goes (C4)."""

    async def delta(self, text: str) -> None:
        """More text of the reply."""

    async def reset(self) -> None:
        """Everything passed to `delta` so far is void: the step begins again or has failed."""


class NoSink:
    """Shows nothing: hidden tasks."""

    async def delta(self, text: str) -> None:
        """Drop the text."""

    async def reset(self) -> None:
        """Nothing was shown."""


async def stream_reply(
    model: Model,
    context: AssembledContext,
    tools: Sequence[ToolSpec],
    *,
    silence_timeout_s: float,
    sink: ReplySink,
    backoff_s: Sequence[float] = BACKOFF_S,
) -> ModelReply:
    """Run one model step to its end (O3).

    Args:
        model: A resolved model, entered by its owner (`async with model`) so that its connections are closed in time.
        context: What the model sees.
        tools: The tools it is offered; none disables them (D4).
        silence_timeout_s: A call that sends nothing for so long is given up, without another try.
        sink: Gets the visible text as it comes and must not raise. What came since the last reset is the reply's text.
            It is reset when a try that showed text fails, never by a cancellation.
        backoff_s: Seconds to wait before the second and the third try.

    Raises:
        ModelUnavailable: No usable answer: with the reason of the last try.
    """
    messages = to_messages(context)
    offered = ModelRequestParameters(function_tools=[_definition(spec) for spec in tools])
    first_failure: float | None = None
    for attempt in range(1, ATTEMPTS + 1):
        step = _Attempt(sink, silence_timeout_s)
        try:
            return await step.run(model, messages, offered)
        except Exception as error:
            failure = classify(error)
        if step.shown:
            await sink.reset()
        now = time.monotonic()
        first_failure = first_failure if first_failure is not None else now
        pause = max(backoff_s[min(attempt, len(backoff_s)) - 1], failure.retry_after_s or 0.0)
        if attempt == ATTEMPTS or not failure.repeatable or now + pause - first_failure > RETRY_WINDOW_S:
            raise ModelUnavailable(failure.reason, attempt) from None
        await asyncio.sleep(pause)
    raise AssertionError("unreachable: the last attempt returns or raises")


class _Attempt:
    """One try: the state of one stream."""

    def __init__(self, sink: ReplySink, silence_timeout_s: float) -> None:
        self._sink = sink
        self._silence_s = silence_timeout_s
        self._pieces: list[str] = []
        self._text_bytes = 0
        self._calls = 0
        self._characters = 0

    @property
    def shown(self) -> bool:
        return bool(self._pieces)

    async def run(self, model: Model, messages: list[ModelMessage], offered: ModelRequestParameters) -> ModelReply:
        silence = asyncio.timeout(self._silence_s)
        try:
            # One deadline, moved on with every sign of life; it also covers connecting and closing.
            async with (
                silence,
                model_request_stream(
                    model, messages, model_settings=_settings(model), model_request_parameters=offered
                ) as stream,
            ):
                async for event in stream:
                    silence.reschedule(None)
                    await self._take(event)
                    silence.reschedule(asyncio.get_running_loop().time() + self._silence_s)
                response = stream.get()
        except TimeoutError:
            # Silence is given up for good; a shorter time-out of the transport may be tried again.
            raise AttemptFailed("timeout", repeatable=not silence.expired()) from None
        text = "".join(self._pieces)
        _check_ended(response, text)
        return to_reply(response, text, model.model_name)

    async def _take(self, event: ModelResponseStreamEvent) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=content)):
                # Separate blocks of text are separate paragraphs.
                gap = "\n\n" if content and self._pieces and not self._pieces[-1].endswith("\n") else ""
                await self._show(gap + content)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=content)):
                await self._show(content)
            case PartStartEvent(part=ToolCallPart(args=args, tool_name=name)):
                self._calls += 1
                if self._calls > REPLY_CALLS:
                    raise AttemptFailed("too_large", repeatable=True)
                self._charge(len(name) + len(args if isinstance(args, str) else str(args or "")))
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=args)):
                self._charge(len(args if isinstance(args, str) else str(args or "")))
            case PartStartEvent(part=ThinkingPart(content=content)):
                self._charge(len(content))
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought)):
                self._charge(len(thought or ""))
            case _:
                self._charge(0)

    async def _show(self, text: str) -> None:
        self._charge(len(text))
        if not text:
            return
        text = storable(text)
        self._text_bytes += len(text.encode("utf-8"))
        if self._text_bytes > REPLY_TEXT_BYTES:
            raise AttemptFailed("too_large", repeatable=True)
        self._pieces.append(text)
        await self._sink.delta(text)

    def _charge(self, characters: int) -> None:
        self._characters += characters + 1
        if self._characters > REPLY_CHARACTERS:
            raise AttemptFailed("too_large", repeatable=True)


def _check_ended(response: ModelResponse, text: str) -> None:
    """Refuse a reply that broke off, was filtered, or is empty: none of them may be stored as an answer."""
    if response.finish_reason == "content_filter":
        raise AttemptFailed("refused", repeatable=False)
    # Where the connection ended without the provider's own word for the end, the reply was cut off. The library would
    # call it a normal stop for some providers, so its raw word is asked for. A local model has no provider and no wire.
    raw_reason = (response.provider_details or {}).get("finish_reason")
    if response.state != "complete" or (response.provider_name is not None and raw_reason is None):
        raise AttemptFailed("malformed", repeatable=True)
    if not text.strip() and not any(isinstance(part, ToolCallPart) for part in response.parts):
        raise AttemptFailed("malformed", repeatable=True)


@cache
def _definition(spec: ToolSpec) -> ToolDefinition:
    # Made once: the schemas of all tools cost a tenth of the processor time of a reply (py-spy, benchmark f).
    # Not strict: that mode would need every field required, and servers that only resemble a provider reject it.
    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=spec.schema(), strict=False
    )


def _settings(model: Model) -> ModelSettings:
    """Retries belong to this module alone; models without that setting have theirs turned off where they are built.

    So has a client that would be copied for each request to carry the setting.
    """
    turned_off = getattr(getattr(model, "client", None), "max_retries", None) == 0
    settled = turned_off or "max_retries" in model.unsupported_settings
    return ModelSettings() if settled else ModelSettings(max_retries=0)
