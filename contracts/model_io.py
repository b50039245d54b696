"""What goes into a model and what comes back, as values that rows can be turned into and stored from.

Owns the context items (C6) and the reply of one model step. The hard thing is that the item kind, not its text,
says who wrote it: what a person wrote is never mixed with what the host adds.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCall(_Frozen):
    """One tool call of a model step; `arguments` is the raw JSON as the model sent it, valid or not."""

    call_id: str
    name: str
    arguments: str


class ModelReply(_Frozen):
    """The complete answer of one model step (T10: stored once, reused on recovery).

    `response_json` is the provider-neutral response message; sent back unchanged it keeps what only the provider
    understands (thinking signatures). Token counts are the provider's, 0 when it told none.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    response_json: str
    input_tokens: int = 0
    output_tokens: int = 0
    model: str


class HostNote(_Frozen):
    """What the host adds (attachment lists, reminders, instructions of a delivery): a message of its own (C6)."""

    kind: Literal["host_note"] = "host_note"
    text: str


class UserText(_Frozen):
    """What a person wrote, or a task's instructions: one user message, verbatim (C6). `seq` is its message's place."""

    kind: Literal["user_text"] = "user_text"
    text: str
    seq: int | None = None


class AssistantStep(_Frozen):
    """One earlier model step: its text and calls, with the provider's message if it was kept."""

    kind: Literal["assistant_step"] = "assistant_step"
    text: str
    calls: tuple[ToolCall, ...] = ()
    response_json: str | None = None
    seq: int | None = None


class ToolResult(_Frozen):
    """What one tool call gave back; `content` is the text the model is shown."""

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    name: str
    content: str


ContextItem: TypeAlias = Annotated[HostNote | UserText | AssistantStep | ToolResult, Field(discriminator="kind")]
