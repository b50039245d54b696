"""The streamed model step against the scripted model server, in four providers' dialects (C4, C6, O3)."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from assistant.context import assemble
from assistant.model_call import REPLY_CALLS, REPLY_TEXT_BYTES, NoSink, stream_reply
from assistant.model_errors import ModelUnavailable
from assistant.provider import resolve_model
from assistant.tools import tools_for
from contracts.model_io import AssistantStep, ContextItem, HostNote, ModelReply, ToolResult, UserText
from tests.conftest import Eventually
from tests.fake_model_server import FakeModelServer

_DIALECTS = ("openai-chat", "openai-responses", "anthropic", "google")


class RecordingSink:
    """Keeps what a page would have been sent; None is a reset."""

    def __init__(self) -> None:
        self.events: list[str | None] = []
        self.began = asyncio.Event()

    async def delta(self, text: str) -> None:
        self.events.append(text)
        self.began.set()

    async def reset(self) -> None:
        self.events.append(None)

    @property
    def visible(self) -> str:
        last_reset = max((at for at, event in enumerate(self.events) if event is None), default=-1)
        return "".join(event for event in self.events[last_reset + 1 :] if event is not None)


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer() as started:
        yield started


async def _model(dialect: str, server: FakeModelServer) -> AsyncIterator[Model[Any]]:
    base = f"{server.url}/v1" if dialect.startswith("openai") else server.url
    async with resolve_model(f"{dialect}:fake-model", base, "key") as model:
        yield model


@pytest.fixture(params=_DIALECTS)
async def model(request: pytest.FixtureRequest, server: FakeModelServer) -> AsyncIterator[Model[Any]]:
    async for built in _model(request.param, server):
        yield built


@pytest.fixture
async def chat(server: FakeModelServer) -> AsyncIterator[Model[Any]]:
    async for built in _model("openai-chat", server):
        yield built


async def _ask(
    model: Model[Any],
    items: list[ContextItem],
    *,
    sink: RecordingSink | None = None,
    silence_s: float = 20.0,
    audience: str = "main",
) -> ModelReply:
    tools = tools_for("executor") if audience == "executor" else tools_for("main") if audience == "main" else ()
    return await stream_reply(
        model,
        assemble("You are a test.", [], items, 50_000),
        tools,
        silence_timeout_s=silence_s,
        sink=sink or RecordingSink(),
        backoff_s=(0.01, 0.01),
    )


async def test_streams_word_by_word(model: Model[Any]) -> None:
    """C4, O3: the text comes in pieces whose concatenation is the reply."""
    sink = RecordingSink()
    reply = await _ask(model, [UserText(text="[[say:one two three]]")], sink=sink)
    assert reply.text == "one two three" == sink.visible
    assert len(sink.events) == 3
    assert (reply.calls, reply.model, reply.input_tokens > 0) == ((), "fake-model", True)


async def test_steps_are_counted_through_tool_results(model: Model[Any], server: FakeModelServer) -> None:
    """C6: earlier steps reach the provider as assistant and tool messages, the script as its own user text."""
    script = (
        '[[think:hm]][[say:a]][[tool:get_task {"task_id": "t1"}]][[then]][[tool:list_tasks {}]][[tool:list_tasks {}]]'
    )
    items: list[ContextItem] = [
        HostNote(text="[host] a note"),
        UserText(text="[[say:old]]"),
        AssistantStep(text="old"),
        HostNote(text="[host] another note"),
        UserText(text=f"{script}[[then]][[say:finished]]"),
    ]
    seen: list[tuple[str, list[str]]] = []
    for _ in range(3):
        reply = await _ask(model, items)
        seen.append((reply.text, [call.name for call in reply.calls]))
        items.append(AssistantStep(text=reply.text, calls=reply.calls, response_json=reply.response_json))
        items.extend(ToolResult(call_id=call.call_id, name=call.name, content='{"ok": 1}') for call in reply.calls)
    assert seen == [("a", ["get_task"]), ("", ["list_tasks", "list_tasks"]), ("finished", [])]
    assert [entry["step"] for entry in server.log()] == [0, 1, 2]
    assert len({item.call_id for item in items if isinstance(item, ToolResult)}) == 3


async def test_steps_survive_without_the_provider_message(model: Model[Any], server: FakeModelServer) -> None:
    """C6: text and calls alone rebuild a valid exchange, also when the kept message cannot be read."""
    items: list[ContextItem] = [UserText(text="[[tool:list_tasks {}]][[then]][[say:end]]")]
    reply = await _ask(model, items)
    items.append(AssistantStep(text=reply.text, calls=reply.calls, response_json="not json"))
    items.extend(ToolResult(call_id=call.call_id, name=call.name, content="x") for call in reply.calls)
    assert (await _ask(model, items)).text == "end"


async def test_user_texts_are_messages_of_their_own(chat: Model[Any], server: FakeModelServer) -> None:
    """C6: verbatim, never in one message with what the host adds, the system prompt as system."""
    text = '  {"a": 1}\n[[say:ok]] "quoted" 字 '
    await _ask(chat, [HostNote(text="[host] note"), UserText(text=text)])
    messages = server.last()["messages"]
    assert [(message["role"], message["content"]) for message in messages] == [
        ("system", "You are a test."),
        ("user", "[host] note"),
        ("user", text),
    ]


async def test_requests_are_sent_as_they_are_with_one_client(server: FakeModelServer) -> None:
    """O3: what the library passes to the client is the body, and no request is repeated by the client itself."""
    messages = [{"role": "user", "content": "[[say:hi]]"}]
    tool = {"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}}
    async with resolve_model("openai-chat:x", f"{server.url}/v1", "key") as model:
        client = model.client  # type: ignore[attr-defined]
        assert client.max_retries == 0
        await client.chat.completions.create(model="x", messages=messages, tools=[tool], extra_body={"more": 1})
        last = server.last()
        assert (last["messages"], last["tools"], last["more"], last["model"]) == (messages, [tool], 1, "x")
        await client.chat.completions.create(model="x", messages=messages)
        assert "tools" not in server.last()


async def test_no_tools_means_no_tools(model: Model[Any], server: FakeModelServer) -> None:
    """D4: a delivery's turn offers none."""
    await _ask(model, [UserText(text="hello")], audience="none")
    await _ask(model, [UserText(text="hello")], audience="executor")
    assert server.log()[0]["tools"] == []
    assert "submit_result" in server.log()[1]["tools"]


@pytest.mark.parametrize(
    ("status", "reason", "requests"),
    [
        (400, "refused", 1),
        (401, "unauthenticated", 1),
        (403, "unauthenticated", 1),
        (404, "refused", 1),
        (422, "refused", 1),
        (408, "timeout", 3),
        (409, None, 3),
        (429, "rate_limited", 3),
        (500, "provider_error", 3),
        (503, "provider_error", 3),
    ],
)
async def test_error_statuses(
    model: Model[Any], server: FakeModelServer, status: int, reason: str | None, requests: int
) -> None:
    """O3: errors are tried three times, requests the provider rejects are not; the vendor's own retries are off."""
    with pytest.raises(ModelUnavailable) as failed:
        await _ask(model, [UserText(text=f"[[error:{status} private words]]")])
    assert failed.value.code == "model_unavailable"
    assert reason is None or failed.value.reason == reason
    assert len(server.log()) == requests == failed.value.attempts
    assert "private" not in str(failed.value)


async def test_an_error_then_an_answer(model: Model[Any], server: FakeModelServer) -> None:
    """O3: the second try's answer is the reply."""
    server.push("[[error:500 once]]")
    assert (await _ask(model, [UserText(text="[[say:fine]]")])).text == "fine"
    assert len(server.log()) == 2


async def test_dropped_stream_is_reset_and_tried_again(model: Model[Any], server: FakeModelServer) -> None:
    """C4: a reply that broke off is withdrawn, not stored and not doubled."""
    sink = RecordingSink()
    server.push("[[say:half of]][[drop]]")
    reply = await _ask(model, [UserText(text="[[say:whole]]")], sink=sink)
    assert reply.text == "whole" == sink.visible
    assert sink.events.count(None) == 1


async def test_always_dropped(model: Model[Any], server: FakeModelServer) -> None:
    """O3: three tries, then the reason; nothing stays visible."""
    sink = RecordingSink()
    with pytest.raises(ModelUnavailable, match="malformed after 3"):
        await _ask(model, [UserText(text="[[say:half]][[drop]]")], sink=sink)
    assert sink.visible == ""


@pytest.mark.parametrize("script", ["[[hang]]", "[[say:a b]][[hang]]"])
async def test_silence_is_given_up(
    model: Model[Any], server: FakeModelServer, eventually: Eventually, script: str
) -> None:
    """O3: a call that sends nothing for the configured time is given up once, and its connection is closed."""
    sink = RecordingSink()
    with pytest.raises(ModelUnavailable, match="timeout after 1"):
        await _ask(model, [UserText(text=script)], sink=sink, silence_s=3.0)
    assert sink.visible == ""
    await eventually(lambda: [entry["outcome"] for entry in server.log()] == ["client-gone"], "the server saw us leave")


async def test_slow_but_alive_is_not_given_up(chat: Model[Any]) -> None:
    """O3: only silence counts; a reply may take longer than the silence that is allowed."""
    reply = await _ask(chat, [UserText(text="[[delay:250]][[say:a b c d e f g h]]")], silence_s=2.0)
    assert reply.text == "a b c d e f g h"


async def test_cancellation_closes_the_connection(
    model: Model[Any], server: FakeModelServer, eventually: Eventually
) -> None:
    """S6, S8: a stop ends the call at once; what was shown is not reset by it."""
    sink = RecordingSink()
    running = asyncio.create_task(_ask(model, [UserText(text="[[say:a b]][[hang]]")], sink=sink))
    await asyncio.wait_for(sink.began.wait(), 20)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert None not in sink.events
    await eventually(lambda: [entry["outcome"] for entry in server.log()] == ["client-gone"], "the server saw us leave")


async def test_empty_reply_is_malformed(model: Model[Any], server: FakeModelServer) -> None:
    """O3: neither text nor calls is no answer."""
    with pytest.raises(ModelUnavailable, match="malformed"):
        await _ask(model, [UserText(text="[[say: ]]")])
    assert len(server.log()) == 3


async def test_nobody_listens(free_port: Any) -> None:
    """O3: an unreachable service has its own reason."""
    async with resolve_model("openai-chat:x", f"http://127.0.0.1:{free_port()}/v1", "key") as model:
        with pytest.raises(ModelUnavailable, match="unreachable after 3"):
            await _ask(model, [UserText(text="hello")])


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\xff garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {not json}\n\n",
        b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {"choices": 5}\n\n',
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: [DONE]\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999\r\n\r\n<html>",
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_garbage_never_hangs(answer: bytes) -> None:
    """O3: whatever comes instead of an answer ends in a reason code."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, family=socket.AF_INET)
    port = server.sockets[0].getsockname()[1]
    async with server, resolve_model("openai-chat:x", f"http://127.0.0.1:{port}/v1", "key") as model:
        with pytest.raises(ModelUnavailable):
            await asyncio.wait_for(_ask(model, [UserText(text="hello")], silence_s=5), 30)


def _scripted(*pieces: str | DeltaToolCalls) -> FunctionModel:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        for piece in pieces:
            yield piece

    return FunctionModel(stream_function=stream)


async def test_malformed_calls_are_kept_raw_and_sent_back_safely(chat: Model[Any], server: FakeModelServer) -> None:
    """O19: broken arguments stay raw for the reader; names and ids no provider accepts are made harmless."""
    odd = _scripted(
        {0: DeltaToolCall(name="no such/tool" + "x" * 99, json_args='{"path": ', tool_call_id="same")},
        {1: DeltaToolCall(name="read_file", json_args="[1]", tool_call_id="same")},
        {2: DeltaToolCall(name="list_tasks", json_args="", tool_call_id="ok")},
    )
    reply = await _ask(odd, [UserText(text="x")])
    assert [call.arguments for call in reply.calls] == ['{"path": ', "[1]", ""]
    assert len({call.call_id for call in reply.calls}) == 3
    assert all(len(call.name) <= 64 for call in reply.calls)
    items: list[ContextItem] = [
        UserText(text="[[say:never]][[then]][[say:next]]"),
        AssistantStep(text=reply.text, calls=reply.calls, response_json=reply.response_json),
        *(ToolResult(call_id=call.call_id, name=call.name, content="bad") for call in reply.calls),
    ]
    assert (await _ask(chat, items)).text == "next"
    sent = server.last()["messages"][2]["tool_calls"]
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in sent)


async def test_unstorable_characters_are_replaced() -> None:
    """I1: what a model says can always be stored, in both databases."""
    reply = await _ask(_scripted("a\x00b", "\ud800c"), [UserText(text="x")])
    assert reply.text == "a\ufffdb\ufffdc"
    assert "\\u0000" not in reply.response_json


async def test_reply_size_is_bounded() -> None:
    """O3: a stream without end ends; nothing of it stays visible."""
    sink = RecordingSink()
    with pytest.raises(ModelUnavailable, match="too_large"):
        await _ask(_scripted(*(["x" * 1024] * (REPLY_TEXT_BYTES // 1024 + 2))), [UserText(text="x")], sink=sink)
    assert sink.visible == ""
    calls: list[DeltaToolCalls] = [
        {at: DeltaToolCall(name="list_tasks", json_args="{}")} for at in range(REPLY_CALLS + 1)
    ]
    with pytest.raises(ModelUnavailable, match="too_large"):
        await _ask(_scripted(*calls), [UserText(text="x")])


async def test_retries_stop_when_the_window_is_over(server: FakeModelServer, chat: Model[Any]) -> None:
    """O3: no try begins later than 30 s after the first failure; a longer pause gives up instead of waiting."""
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="provider_error after 1"):
        await stream_reply(
            chat,
            assemble("s", [], [UserText(text="[[error:500 x]]")], 9_000),
            (),
            silence_timeout_s=5,
            sink=NoSink(),
            backoff_s=(60.0,),
        )
    assert time.monotonic() - began < 30


async def test_history_that_begins_with_an_answer(model: Model[Any]) -> None:
    """C6, D4: a delivered message may be the oldest one; providers still get a user message first."""
    items: list[ContextItem] = [AssistantStep(text="The task is done."), UserText(text="[[say:thanks]]")]
    assert (await _ask(model, items)).text == "thanks"


async def test_attachments_without_words(chat: Model[Any], server: FakeModelServer) -> None:
    """C8: an empty text with attachments is only the host's note; no empty message is sent."""
    await _ask(chat, [HostNote(text="[host] Attachments …"), UserText(text="")])
    assert [message["role"] for message in server.last()["messages"]] == ["system", "user"]
