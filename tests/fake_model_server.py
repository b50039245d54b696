#!/usr/bin/env python3
"""Deterministic fake model server (standard library only, loopback only).

One process speaks five wire formats, streaming (SSE) and not:

  POST /v1/chat/completions                      OpenAI chat completions
  POST /v1/responses                             OpenAI responses
  POST /v1/messages, /v1/messages/count_tokens   Anthropic messages
  POST /v1beta/models/M:[stream]GenerateContent  Gemini
  GET  /v1/models                                model list (also /models)

A leading path prefix is ignored ("/anthropic/v1/messages" works).

What it answers is written in the prompt, in [[directives]].  The newest user
message holding a directive is the script; without one the reply is
"echo: <first 80 characters of the last user text>".  Directives may nest: the
JSON of a tool call can hold the script of a sub-agent.

  [[say:TEXT]]            stream TEXT, word by word
  [[think:TEXT]]          stream TEXT as reasoning
  [[run:SHELL COMMAND]]   call the engine's shell tool, whatever it is called
  [[tool:NAME {JSON}]]    call a tool by name with exact arguments
  [[delay:MS]]            wait MS before each chunk from here on
  [[hang]] / [[hang:S]]   stall until the client leaves, S seconds at most (60)
  [[drop]]                close the connection in the middle of the stream
  [[error:STATUS TEXT]]   answer with an HTTP error (must be first in its step)
  [[then]]                next step: what to answer next (after the tool results)

The step number is the number of assistant turns after the script message, so a
server restart or a resumed session changes nothing.  Past the last step the
answer is "done" after a tool result, "echo: ..." after a plain user message.
A request that offers no tools (session titles and the like) never gets a tool
call: it is answered "Fake title".

Control (for tests):
  GET  /__log      requests so far, as JSON: [{n, api, path, model, stream,
                   tools, step, script, outcome: ok|client-gone|dropped|error}]
  GET  /__last     the body of the newest model request
  POST /__push     {"script": "[[say:hi]]"}: answers the next model request
  POST /__reset    forget log and pushed scripts
  GET  /__health   {"ok": true}

Use in a test:
    with FakeModelServer() as srv: srv.url; srv.log(); srv.push("[[say:hi]]")
From a shell:
    fake_model_server.py --port 0 --port-file F     (prints {"port": N})
"""
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN204, ANN205, C901, D209, T201, UP031, SIM105
# mypy: ignore-errors
from __future__ import annotations

import argparse
import json
import re
import select
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

MODELS = ["fake-model", "fake-model-mini"]
KINDS = ("say", "think", "run", "tool", "delay", "hang", "drop", "error", "then")
OPENING = re.compile(r"\[\[(%s)(?=:|\]\])" % "|".join(KINDS))
SHELL_TOOLS = ("bash", "Bash", "exec_command", "shell_command", "shell", "run_shell_command",
               "run_terminal_command", "run_terminal_cmd", "terminal", "container.exec",
               "local_shell", "execute_command", "execute")


# --------------------------------------------------------------- the script
def directives(text):
    """[(kind, argument, source)] in text; brackets inside an argument must pair up,
    so a tool argument can hold the script of a sub-agent."""
    found, at = [], 0
    while True:
        m = OPENING.search(text, at)
        if not m:
            return found
        depth, i = 1, m.end()
        while depth and i < len(text):
            two = text[i:i + 2]
            if two == "[[" or two == "]]":
                depth += 1 if two == "[[" else -1
                i += 2
            else:
                i += 1
        if depth:
            return found  # never closed: not a directive
        found.append((m.group(1), text[m.end() + 1:i - 2], text[m.start():i]))
        at = i


def parse_script(text):
    """[[...]] text -> list of steps, each a list of (kind, argument)."""
    steps = [[]]
    for kind, arg, _ in directives(text):
        if kind == "then":
            steps.append([])
        else:
            steps[-1].append((kind, arg))
    return steps


def shell_args(tool, command):
    """Arguments for a shell tool, following the schema the engine sent."""
    props = (tool.get("schema") or {}).get("properties") or {}
    key = next((k for k in ("command", "cmd", "script", "commands") if k in props), "command")
    kind = (props.get(key) or {}).get("type")
    args = {key: ["bash", "-lc", command] if kind == "array" else command}
    for need in (tool.get("schema") or {}).get("required") or []:
        if need not in args:
            t = (props.get(need) or {}).get("type")
            enum = (props.get(need) or {}).get("enum")
            args[need] = enum[0] if enum else {"boolean": False, "number": 1000, "integer": 1000,
                                               "array": [], "object": {}}.get(t, "fake call")
    return args


def plan(script_text, step, tools, fallback):
    """-> list of ("say"|"think"|"call"|"delay"|"hang"|"drop"|"error", value)."""
    if not script_text:
        return [("say", fallback)]
    steps = parse_script(script_text)
    if step >= len(steps):
        return [("say", fallback)]
    out, need_tool = [], False
    for kind, arg in steps[step]:
        if kind in ("run", "tool"):
            need_tool = True
            if not tools:
                continue
            if kind == "run":
                byname = {t["name"]: t for t in tools}
                name = next((n for n in SHELL_TOOLS if n in byname), None)
                if name is None:
                    out.append(("say", "no shell tool among: " + ", ".join(sorted(byname))))
                else:
                    out.append(("call", (name, shell_args(byname[name], arg.strip()))))
            else:
                name, _, rest = arg.strip().partition(" ")
                out.append(("call", (name, json.loads(rest) if rest.strip() else {})))
        elif kind == "delay":
            out.append(("delay", float(arg) / 1000))
        elif kind == "hang":
            out.append(("hang", float(arg or 60)))
        elif kind == "error":
            status, _, text = (arg or "500").partition(" ")
            out.append(("error", (int(status), text or "scripted error")))
        else:
            out.append((kind, arg))
    if need_tool and not tools:
        return [("say", "Fake title")]
    return out or [("say", "done")]


# --------------------------------------- reading the four request dialects
# A reader returns (turns, tools).  turns: ("user", text) | ("assistant", "") |
# ("tool", "").  Neighbouring assistant items are one turn; each text part of a
# user message is a turn of its own, because engines put reminders, or the text
# of an earlier turn that failed, into the same message as the newest prompt.
def parts_of(content):
    if isinstance(content, str):
        return [content]
    return [p["text"] for p in content or []
            if isinstance(p, dict) and isinstance(p.get("text"), str)]


def read_chat(body):
    turns = []
    for m in body.get("messages", []):
        if m.get("role") == "user":
            turns += [("user", t) for t in parts_of(m.get("content"))]
        elif m.get("role") in ("assistant", "tool"):
            turns.append((m["role"], ""))
    tools = [{"name": t["function"]["name"], "schema": t["function"].get("parameters") or {}}
             for t in body.get("tools") or [] if t.get("type") == "function"]
    return turns, tools


def read_responses(body):
    turns = []
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items or []:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            turns += [("user", t) for t in parts_of(item.get("content"))]
        elif kind.endswith("_output"):
            turns.append(("tool", ""))
        elif item.get("role") == "assistant" or kind == "reasoning" or kind.endswith("_call"):
            turns.append(("assistant", ""))
    tools = []
    for t in body.get("tools") or []:
        if t.get("type") == "function":
            tools.append({"name": t["name"], "schema": t.get("parameters") or {}})
        elif t.get("type") == "namespace":  # Codex: the tools of one MCP server
            tools += [{"name": f["name"], "schema": f.get("parameters") or {}}
                      for f in t.get("tools") or []]
        elif t.get("type") in ("local_shell", "custom"):
            tools.append({"name": t.get("name") or "local_shell", "schema": {}})
    return turns, tools


def read_anthropic(body):
    turns = []
    for m in body.get("messages", []):
        content = m.get("content")
        if m.get("role") == "assistant":
            turns.append(("assistant", ""))
        elif m.get("role") == "user":
            if isinstance(content, list) and any(p.get("type") == "tool_result" for p in content):
                turns.append(("tool", ""))
            turns += [("user", t) for t in parts_of(content)]
    tools = [{"name": t["name"], "schema": t.get("input_schema") or {}}
             for t in body.get("tools") or [] if t.get("name")]
    return turns, tools


def read_gemini(body):
    turns = []
    for m in body.get("contents", []):
        parts = m.get("parts") or []
        if m.get("role") == "model":
            turns.append(("assistant", ""))
        elif any("functionResponse" in p for p in parts):
            turns.append(("tool", ""))
        else:
            turns += [("user", t) for t in parts_of(parts)]
    tools = [{"name": f["name"],
              "schema": f.get("parametersJsonSchema") or f.get("parameters") or {}}
             for group in body.get("tools") or [] for f in group.get("functionDeclarations") or []]
    return turns, tools


def locate(turns):
    """-> (script or "", step number, what to say when the script is over)."""
    last_user = next((t for k, t in reversed(turns) if k == "user" and t.strip()), "")
    answered = next((k for k, t in reversed(turns) if k != "user" or t.strip()), "") != "user"
    over = "done" if answered else "echo: " + last_user.strip()[:80]
    for i in range(len(turns) - 1, -1, -1):
        if turns[i][0] != "user":
            continue
        found = directives(turns[i][1])
        if found:
            after = [k for k, _ in turns[i + 1:]]
            step = sum(1 for j, k in enumerate(after)
                       if k == "assistant" and (j == 0 or after[j - 1] != "assistant"))
            return "".join(source for _, _, source in found), step, over
    return "", 0, over


def words(text):
    return re.findall(r"\S+\s*|\s+", text) or [text]


class Gone(Exception):
    """The client closed the connection."""


class Dropped(Exception):
    """The script asked for a broken stream."""


def has_left(connection):
    """Whether the client at the other end of a socket has closed it."""
    try:
        ready, _, _ = select.select([connection], [], [], 0)
        return bool(ready) and connection.recv(1, 0x2) == b""  # MSG_PEEK
    except (OSError, ValueError):
        return True


# ----------------------------------------------------------- the dialects out
class Stream:
    """Common part: pacing, hanging, noticing that the client has left."""

    def __init__(self, handler, body, n):
        self.h, self.body, self.n = handler, body, n
        self.model = body.get("model") or "fake-model"
        self.delay = 0.0
        self.calls = 0

    def client_gone(self):
        return has_left(self.h.connection)

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while True:
            if self.client_gone():
                raise Gone
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.02, left))

    def event(self, data, name=None):
        if self.delay:
            self.wait(self.delay)
        raw = (f"event: {name}\n" if name else "") + "data: " + \
            (data if isinstance(data, str) else json.dumps(data)) + "\n\n"
        try:
            self.h.wfile.write(raw.encode())
            self.h.wfile.flush()
        except OSError as exc:
            raise Gone from exc

    def play(self, actions):
        self.start()
        for kind, value in actions:
            if kind == "delay":
                self.delay = value
            elif kind == "hang":
                self.wait(value)
            elif kind == "drop":
                raise Dropped
            elif kind == "say":
                self.say(value)
            elif kind == "think":
                self.think(value)
            elif kind == "call":
                self.calls += 1
                self.call(f"call_{self.n}_{self.calls}", *value)
        self.finish()


class Chat(Stream):
    def chunk(self, delta, finish=None):
        self.event({"id": f"chatcmpl-{self.n}", "object": "chat.completion.chunk", "created": 1,
                    "model": self.model,
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def start(self):
        self.chunk({"role": "assistant", "content": ""})

    def say(self, text):
        for w in words(text):
            self.chunk({"content": w})

    def think(self, text):
        for w in words(text):
            self.chunk({"reasoning_content": w})

    def call(self, call_id, name, args):
        i = self.calls - 1
        self.chunk({"tool_calls": [{"index": i, "id": call_id, "type": "function",
                                    "function": {"name": name, "arguments": ""}}]})
        self.chunk({"tool_calls": [{"index": i, "function": {"arguments": json.dumps(args)}}]})

    def finish(self):
        self.chunk({}, "tool_calls" if self.calls else "stop")
        self.event({"id": f"chatcmpl-{self.n}", "object": "chat.completion.chunk", "created": 1,
                    "model": self.model, "choices": [],
                    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
        self.event("[DONE]")

    @staticmethod
    def whole(n, model, actions):
        text = "".join(v for k, v in actions if k == "say")
        calls = [{"id": f"call_{n}_{i}", "type": "function",
                  "function": {"name": v[0], "arguments": json.dumps(v[1])}}
                 for i, (k, v) in enumerate((a for a in actions if a[0] == "call"), 1)]
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = calls
        return {"id": f"chatcmpl-{n}", "object": "chat.completion", "created": 1, "model": model,
                "choices": [{"index": 0, "message": message,
                             "finish_reason": "tool_calls" if calls else "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}


class Responses(Stream):
    def ev(self, kind, **data):
        self.event({"type": kind, **data}, kind)

    def start(self):
        self.items = []
        self.base = {"id": f"resp_{self.n}", "object": "response", "created_at": 1,
                     "model": self.model, "output": []}
        self.ev("response.created", response={**self.base, "status": "in_progress"})

    def say(self, text):
        i, item_id = len(self.items), f"msg_{self.n}_{len(self.items)}"
        self.ev("response.output_item.added", output_index=i,
                item={"type": "message", "id": item_id, "role": "assistant",
                      "status": "in_progress", "content": []})
        self.ev("response.content_part.added", item_id=item_id, output_index=i, content_index=0,
                part={"type": "output_text", "text": "", "annotations": []})
        for w in words(text):
            self.ev("response.output_text.delta", item_id=item_id, output_index=i,
                    content_index=0, delta=w)
        self.ev("response.output_text.done", item_id=item_id, output_index=i, content_index=0,
                text=text)
        self.done(i, {"type": "message", "id": item_id, "role": "assistant",
                      "status": "completed",
                      "content": [{"type": "output_text", "text": text, "annotations": []}]})

    def think(self, text):
        i, item_id = len(self.items), f"rs_{self.n}_{len(self.items)}"
        self.ev("response.output_item.added", output_index=i,
                item={"type": "reasoning", "id": item_id, "summary": []})
        self.ev("response.reasoning_summary_part.added", item_id=item_id, output_index=i,
                summary_index=0, part={"type": "summary_text", "text": ""})
        for w in words(text):
            self.ev("response.reasoning_summary_text.delta", item_id=item_id, output_index=i,
                    summary_index=0, delta=w)
        self.ev("response.reasoning_summary_text.done", item_id=item_id, output_index=i,
                summary_index=0, text=text)
        self.done(i, {"type": "reasoning", "id": item_id,
                      "summary": [{"type": "summary_text", "text": text}]})

    def call(self, call_id, name, args):
        i, raw = len(self.items), json.dumps(args)
        item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name,
                "arguments": "", "status": "in_progress"}
        for t in self.body.get("tools") or []:
            if t.get("type") == "namespace" and name in [f.get("name") for f in t["tools"]]:
                item["namespace"] = t["name"]
        self.ev("response.output_item.added", output_index=i, item=item)
        self.ev("response.function_call_arguments.delta", item_id=item["id"], output_index=i,
                delta=raw)
        self.ev("response.function_call_arguments.done", item_id=item["id"], output_index=i,
                arguments=raw)
        self.done(i, {**item, "arguments": raw, "status": "completed"})

    def done(self, i, item):
        self.items.append(item)
        self.ev("response.output_item.done", output_index=i, item=item)

    def finish(self):
        self.ev("response.completed", response={
            **self.base, "status": "completed", "output": self.items,
            "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
                      "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
                      "total_tokens": 15}})

    @staticmethod
    def whole(n, model, actions):
        out = []
        for k, v in actions:
            if k == "say":
                out.append({"type": "message", "id": f"msg_{n}_{len(out)}", "role": "assistant",
                            "status": "completed", "content": [
                                {"type": "output_text", "text": v, "annotations": []}]})
            elif k == "call":
                out.append({"type": "function_call", "id": f"fc_{n}_{len(out)}",
                            "call_id": f"call_{n}_{len(out)}", "name": v[0],
                            "arguments": json.dumps(v[1]), "status": "completed"})
        return {"id": f"resp_{n}", "object": "response", "created_at": 1, "status": "completed",
                "model": model, "output": out,
                "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}


class Anthropic(Stream):
    def ev(self, kind, **data):
        self.event({"type": kind, **data}, kind)

    def start(self):
        self.index = 0
        self.ev("message_start", message={
            "id": f"msg_{self.n}", "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 1}})

    def block(self, start, deltas):
        self.ev("content_block_start", index=self.index, content_block=start)
        for d in deltas:
            self.ev("content_block_delta", index=self.index, delta=d)
        self.ev("content_block_stop", index=self.index)
        self.index += 1

    def say(self, text):
        self.block({"type": "text", "text": ""},
                   [{"type": "text_delta", "text": w} for w in words(text)])

    def think(self, text):
        self.block({"type": "thinking", "thinking": "", "signature": ""},
                   [{"type": "thinking_delta", "thinking": w} for w in words(text)] +
                   [{"type": "signature_delta", "signature": "ZmFrZQ=="}])

    def call(self, call_id, name, args):
        self.block({"type": "tool_use", "id": "toolu_" + call_id, "name": name, "input": {}},
                   [{"type": "input_json_delta", "partial_json": json.dumps(args)}])

    def finish(self):
        self.ev("message_delta", delta={"stop_reason": "tool_use" if self.calls else "end_turn",
                                        "stop_sequence": None}, usage={"output_tokens": 5})
        self.ev("message_stop")

    @staticmethod
    def whole(n, model, actions):
        out = []
        for k, v in actions:
            if k == "say":
                out.append({"type": "text", "text": v})
            elif k == "call":
                out.append({"type": "tool_use", "id": f"toolu_{n}_{len(out)}", "name": v[0],
                            "input": v[1]})
        return {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": model,
                "content": out, "stop_sequence": None,
                "stop_reason": "tool_use" if any(k == "call" for k, _ in actions) else "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 5}}


class Gemini(Stream):
    def part(self, part, finish=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": [part] if part else []}}
        data = {"candidates": [candidate], "modelVersion": self.model, "responseId": str(self.n)}
        if finish:
            candidate["finishReason"] = finish
            data["usageMetadata"] = {"promptTokenCount": 10, "candidatesTokenCount": 5,
                                     "totalTokenCount": 15}
        self.event(data)

    def start(self):
        pass

    def say(self, text):
        for w in words(text):
            self.part({"text": w})

    def think(self, text):
        self.part({"text": text, "thought": True})

    def call(self, call_id, name, args):
        self.part({"functionCall": {"name": name, "args": args}})

    def finish(self):
        self.part({"text": ""}, "STOP")

    @staticmethod
    def whole(n, model, actions):
        parts = [{"text": v} if k == "say" else {"functionCall": {"name": v[0], "args": v[1]}}
                 for k, v in actions if k in ("say", "call")]
        return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts},
                                "finishReason": "STOP"}], "modelVersion": model,
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5,
                                  "totalTokenCount": 15}}


APIS = {"chat": (read_chat, Chat), "responses": (read_responses, Responses),
        "anthropic": (read_anthropic, Anthropic), "gemini": (read_gemini, Gemini)}


# ------------------------------------------------------------------- the server
class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.requests, self.pushed, self.last = [], [], None
        self.connections = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "fake-model"

    def log_message(self, *args):
        pass

    def reply(self, data, status=200):
        raw = json.dumps(data).encode()
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            self.close_connection = True

    @property
    def state(self):
        return self.server.state

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/__health":
            return self.reply({"ok": True})
        if path == "/__log":
            with self.state.lock:
                return self.reply(list(self.state.requests))
        if path == "/__last":
            return self.reply(self.state.last)
        if path.rstrip("/").endswith("/models"):
            return self.reply({"object": "list", "has_more": False, "first_id": MODELS[0],
                               "last_id": MODELS[-1], "data": [
                                   {"id": m, "object": "model", "type": "model", "created": 1,
                                    "display_name": m, "owned_by": "fake",
                                    "created_at": "2025-01-01T00:00:00Z"} for m in MODELS]})
        self.note("other", {}, "GET", "", 0, [])["outcome"] = "error"
        self.reply({"error": {"message": "no such path: " + path}}, 404)

    def body(self):
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            raw = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
                if not size:
                    self.rfile.readline()
                    break
                raw += self.rfile.read(size)
                self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        encoding = (self.headers.get("content-encoding") or "").lower()
        if encoding == "gzip":
            import gzip
            raw = gzip.decompress(raw)
        try:
            return json.loads(raw or b"{}")
        except ValueError:
            return {}

    def note(self, api, body, path, script, step, tools):
        with self.state.lock:
            entry = {"n": len(self.state.requests) + 1, "api": api, "path": path,
                     "model": body.get("model"), "stream": bool(body.get("stream")),
                     "tools": [t["name"] for t in tools], "step": step, "script": script,
                     "outcome": "open"}
            self.state.requests.append(entry)
            self.state.connections[entry["n"]] = self.connection
            return entry

    def do_POST(self):
        path = urlsplit(self.path).path
        body = self.body()
        if path == "/__push":
            with self.state.lock:
                self.state.pushed.append(body["script"])
            return self.reply({"ok": True})
        if path == "/__reset":
            with self.state.lock:
                self.state.requests.clear()
                self.state.pushed.clear()
                self.state.connections.clear()
            return self.reply({"ok": True})
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            return self.reply({"input_tokens": 10, "totalTokens": 10})
        if path.endswith("/chat/completions"):
            api, stream = "chat", bool(body.get("stream"))
        elif path.endswith("/responses"):
            api, stream = "responses", bool(body.get("stream"))
        elif path.endswith("/messages"):
            api, stream = "anthropic", bool(body.get("stream"))
        elif ":" in path and path.lower().endswith("generatecontent"):
            api, stream = "gemini", "stream" in path.rsplit(":", 1)[1].lower()
            body["model"] = path.rsplit("/", 1)[1].split(":")[0]
        else:
            self.note("other", body, path, "", 0, [])["outcome"] = "error"
            return self.reply({"error": {"message": "no such path: " + path}}, 404)
        reader, writer = APIS[api]
        turns, tools = reader(body)
        script, step, over = locate(turns)
        with self.state.lock:
            self.state.last = body
            if self.state.pushed:
                script, step = self.state.pushed.pop(0), 0
        entry = self.note(api, body, path, script, step, tools)
        entry["stream"] = stream
        try:
            actions = plan(script, step, tools, over)
        except ValueError as exc:
            actions = [("error", (400, f"bad script: {exc}"))]
        if actions[0][0] == "error":
            entry["outcome"] = "error"
            status, text = actions[0][1]
            return self.reply({"type": "error", "error": {"type": "api_error", "code": "scripted",
                                                          "message": text}}, status)
        if not stream:
            for kind, value in actions:
                if kind in ("hang", "delay"):
                    time.sleep(min(value, 60))
            entry["outcome"] = "ok"
            return self.reply(writer.whole(entry["n"], body.get("model") or "fake-model", actions))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            writer(self, body, entry["n"]).play(actions)
            entry["outcome"] = "ok"
        except Gone:
            entry["outcome"] = "client-gone"
        except Dropped:
            entry["outcome"] = "dropped"


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class FakeModelServer:
    """The server on a thread of this process, for tests."""

    def __init__(self, port: int = 0) -> None:
        self.httpd = Server(("127.0.0.1", port), Handler)
        self.httpd.state = State()
        self.port = self.httpd.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> FakeModelServer:
        self.thread = threading.Thread(target=self.httpd.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.httpd.shutdown()
        self.httpd.server_close()

    def log(self) -> list[dict[str, Any]]:
        with self.httpd.state.lock:
            return [dict(e) for e in self.httpd.state.requests]

    def open_calls(self) -> list[dict[str, Any]]:
        """The requests whose client still waits at this very moment, as the kernel knows it."""
        with self.httpd.state.lock:
            asked = [(dict(e), self.httpd.state.connections.get(e["n"])) for e in self.httpd.state.requests
                     if e["outcome"] == "open"]
        return [entry for entry, connection in asked if connection is not None and not has_left(connection)]

    def push(self, script: str) -> None:
        with self.httpd.state.lock:
            self.httpd.state.pushed.append(script)

    def last(self) -> dict[str, Any]:
        """The body of the newest model request."""
        with self.httpd.state.lock:
            return dict(self.httpd.state.last or {})

    def reset(self) -> None:
        with self.httpd.state.lock:
            self.httpd.state.requests.clear()
            self.httpd.state.pushed.clear()
            self.httpd.state.connections.clear()


def main():
    p = argparse.ArgumentParser(description="deterministic fake model server")
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--port-file")
    a = p.parse_args()
    server = FakeModelServer(a.port)
    if a.port_file:
        with open(a.port_file, "w") as f:
            f.write(str(server.port))
    print(json.dumps({"port": server.port, "url": server.url}), flush=True)
    try:
        server.httpd.serve_forever(0.05)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
