"""A model that answers by script and remembers what it was shown, and a reply under way that a test can stop."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

Call = tuple[str, object]
Pause = Callable[[], Awaitable[None]]
Answer = list[str | Call | Pause]


@dataclass
class Script:
    """The answers in order; each a list of texts, calls (name and arguments), and waits in between."""

    answers: list[Answer]
    seen: list[list[tuple[str, str]]] = field(default_factory=list)
    offered: list[list[str]] = field(default_factory=list)

    @property
    def model(self) -> FunctionModel:
        """The model that speaks the script."""
        return FunctionModel(stream_function=self._stream)

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.seen.append([shown for message in messages for shown in _shown(message)])
        self.offered.append([tool.name for tool in info.function_tools])
        calls = 0
        for piece in self.answers[len(self.seen) - 1]:
            if isinstance(piece, str):
                yield piece
            elif isinstance(piece, tuple):
                name, given = piece
                arguments = given if isinstance(given, str) else json.dumps(given)
                yield {calls: DeltaToolCall(name=name, json_args=arguments, tool_call_id=f"call{calls}")}
                calls += 1
            else:
                await piece()


def _shown(message: ModelMessage) -> list[tuple[str, str]]:
    """Who said what, without the system prompt."""
    shown = []
    for part in message.parts:
        if isinstance(part, UserPromptPart | ToolReturnPart):
            shown.append(("tool" if isinstance(part, ToolReturnPart) else "user", str(part.content)))
        elif isinstance(part, TextPart):
            shown.append(("assistant", part.content))
        elif isinstance(part, ToolCallPart) and not isinstance(message, ModelRequest):
            shown.append(("call", part.tool_name))
    return shown


@dataclass
class Shown:
    """A reply under way, as the host keeps it; None in `events` is a reset."""

    events: list[str | None] = field(default_factory=list)
    stop_requested: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        """What a page would show."""
        last_reset = max((at for at, event in enumerate(self.events) if event is None), default=-1)
        return "".join(event for event in self.events[last_reset + 1 :] if event is not None)

    def delta(self, text: str) -> None:
        """Show more."""
        self.events.append(text)

    def reset(self) -> None:
        """Forget what was shown."""
        self.events.append(None)


@dataclass
class ShownReplies:
    """All replies under way, by turn id."""

    replies: dict[str, Shown] = field(default_factory=dict)

    def open(self, turn_id: str) -> Any:
        """The reply of a turn."""
        return self.replies.setdefault(turn_id, Shown())
