"""A scripted stand-in for the host, for tests of the page alone.

It serves the real page and speaks the part of the wire contract the page uses, from rows a test puts in. It keeps one
promise of the real host that the page relies on: the same request id returns the same receipt.
"""

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse, Response
from typing_extensions import override

from host.page.page_routes import PageIdentity, install_page
from host.rendering import render_markdown
from tests.page.stand_in_attention import AttentionRows
from tests.page.stand_in_control import SESSION
from tests.page.stand_in_control import Json as Json
from tests.page.stand_in_control import Refusal as Refusal
from tests.page.stand_in_control import iso as iso

LIMITS = {
    "text_bytes": 64_000,
    "attachments": 16,
    "attachment_bytes": 20 * 1024 * 1024,
    "frame_bytes": 1024 * 1024,
    "slice_base64": 524_288,
}


class StandIn(AttentionRows):
    """The rows a page sees, and the switches a test turns."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Json] = []
        self.approvals: dict[str, Json] = {}
        self.activity: Json = {"in_progress": [], "recent_activity": [], "recent_outputs": []}
        self.receipts: dict[str, Json] = {}
        self.files: dict[str, bytes] = {}
        self.calls: list[Json] = []
        self.refusals: dict[str, Refusal] = {}
        self.silent: set[str] = set()
        self.signed_in = True
        self.user_space = "local"
        self.upload_refusal: tuple[int, Json] | None = None
        self.uploads_go_on = asyncio.Event()
        self.uploads_go_on.set()
        self.connections: set[WebSocket] = set()
        self.app = self._build()

    # --- what tests do -------------------------------------------------------------------------------------------

    def add(self, role: str, text: str, **fields: Any) -> Json:
        """Store a message as the host would."""
        origin = {"user": "user", "assistant": "reply"}[role]
        message: Json = {
            "session_id": SESSION,
            "seq": len(self.messages) + 1,
            "role": role,
            "text": text,
            "html": render_markdown(text) if role == "assistant" else None,
            "time": iso(),
            "turn_id": f"turn_{len(self.messages) + 1}",
            "origin": origin,
            "attachments": [],
            "reaction_eligible": False,
            "reactions": {"revision": 0},
            **fields,
        }
        self.messages.append(message)
        return message

    def add_file(self, content: bytes, name: str, media_type: str, kind: str = "attachment") -> Json:
        """Store a file; returns its metadata."""
        digest = hashlib.sha256(content).hexdigest()
        file_id = f"{kind}_{len(self.files) + 1}"
        self.files[file_id] = content
        return {f"{kind}_id": file_id, "name": name, "media_type": media_type, "size": len(content), "sha256": digest}

    def add_approval(self, approval_id: str, **fields: Any) -> Json:
        """Store a pending file card."""
        card: Json = {
            "approval_id": approval_id,
            "version": 1,
            "effect_id": f"effect_of_{approval_id}",
            "kind": "file",
            "action_digest": hashlib.sha256(approval_id.encode()).hexdigest(),
            "words": "Write summary.md",
            "impact": "Creates a new file of 5 lines.",
            "state": "pending",
            "details": {"diff": "--- /dev/null\n+++ summary.md\n@@ -0,0 +1,2 @@\n+# Summary\n+Two lines.\n"},
            **fields,
        }
        self.approvals[approval_id] = card
        return card

    async def notify(self, topic: str, **fields: Any) -> None:
        """Send a notification to every connection."""
        frame = {
            "jsonrpc": "2.0",
            "method": "plugin/client/event",
            "params": {"topic": topic, "revision": 1, **fields},
        }
        for connection in list(self.connections):
            await connection.send_json(frame)

    async def stored(self) -> None:
        """Tell that the conversation has grown."""
        await self.notify("conversation", last_seq=len(self.messages))

    async def end_turn(self, turn_id: str, text: str, state: str = "completed", **fields: Any) -> Json:
        """Store a turn's reply, settle its receipt, and tell."""
        message = self.add("assistant", text, turn_id=turn_id, **fields)
        for receipt in self.receipts.values():
            if receipt["turn_id"] == turn_id:
                receipt["state"] = "done"
        await self.notify("turn.state", turn_id=turn_id, state=state, message_seq=message["seq"])
        await self.stored()
        return message

    async def drop_connections(self) -> None:
        """Close every connection as a dying host would."""
        for connection in list(self.connections):
            with contextlib.suppress(RuntimeError):
                await connection.close(1012)

    def calls_of(self, method: str) -> list[Json]:
        """Return what the page sent for a method, oldest first."""
        return [call for call in self.calls if call["method"] == method]

    # --- the application -----------------------------------------------------------------------------------------

    def _build(self) -> FastAPI:
        app = FastAPI(openapi_url=None)

        async def signed_in(_: Request) -> bool:
            return self.signed_in

        install_page(app, signed_in, PageIdentity("local", "personal", "0.1.0"))

        @app.post("/api/attachments")
        async def attach(request: Request) -> Response:
            content = await request.body()
            await self.uploads_go_on.wait()
            if self.upload_refusal:
                status, problem = self.upload_refusal
                return JSONResponse(problem, status, media_type="application/problem+json")
            self.calls.append({"method": "POST /api/attachments", "filename": request.headers["x-filename"]})
            file = self.add_file(content, request.headers["x-filename"], request.headers["content-type"])
            return JSONResponse(file, 201)

        @app.get("/api/settings")
        async def settings() -> Json:
            return {
                "home": "set",
                "port": 18000,
                "model": "offline",
                "model_api_key": {"configured": False},
                "log": {"format": "json"},
            }

        @app.websocket("/rpc")
        async def rpc(socket: WebSocket) -> None:
            if not self.signed_in:
                await socket.close(1008)
                return
            await socket.accept()
            try:
                while True:
                    await self._answer(socket, await socket.receive_json())
            except (WebSocketDisconnect, RuntimeError):
                return
            finally:
                self.connections.discard(socket)

        return app

    async def _answer(self, socket: WebSocket, frame: Json) -> None:
        answer: Json = {"jsonrpc": "2.0", "id": frame["id"]}
        params = frame.get("params", {})
        if frame["method"] == "initialize":
            self.connections.add(socket)
            answer["result"] = self._initialize()
        else:
            if frame["method"] != "plugin/client/request":
                params = {"method": frame["method"], "params": params}
            self.calls.append(params)
            if params["method"] in self.silent:
                return
            try:
                answer["result"] = self._call(params)
            except Refusal as refusal:
                data = {"code": refusal.code, **refusal.details}
                answer["error"] = {"code": -32000, "message": refusal.message, "data": data}
        await socket.send_json(answer)

    def _initialize(self) -> Json:
        return {
            "protocol_version": 1,
            "connection_id": "connection_1",
            "server": {"name": "steward", "version": "0.1.0"},
            "user_space_id": self.user_space,
            "product_domain": "personal",
            "user_host_isolation": {"memory": "logical", "host": "unverified"},
            "composition": {"profile": "personal", "graph_generation": 1, "modules": []},
            "main_session_id": SESSION,
            "limits": LIMITS,
        }

    def _call(self, envelope: Json) -> Json:
        method = envelope["method"]
        if method in self.refusals:
            raise self.refusals[method]
        handler = getattr(self, "_do_" + method.removeprefix("user-").replace(".", "_").replace("/", "_"))
        result: Json = handler(envelope["params"], envelope)
        return result

    def _do_agents_send(self, _: Json, envelope: Json) -> Json:
        request_id = envelope["request_id"]
        if request_id not in self.receipts:
            sent = envelope["user_input"]
            names = [{"attachment_id": key, **self._file(key)} for key in sent["attachment_ids"]]
            message = self.add("user", sent["text"], attachments=names)
            receipt = {
                "request_id": request_id,
                "method": "agents.send",
                "state": "accepted",
                "accepted_at": iso(),
                "turn_id": message["turn_id"],
                "message_seq": message["seq"],
            }
            message["receipt"] = receipt
            self.receipts[request_id] = receipt
        return {"receipt": self.receipts[request_id]}

    def _file(self, file_id: str) -> Json:
        content = self.files[file_id]
        digest = hashlib.sha256(content).hexdigest()
        return {"name": "file.txt", "media_type": "text/plain", "size": len(content), "sha256": digest}

    def _do_agents_receipt(self, params: Json, _: Json) -> Json:
        if params["request_id"] not in self.receipts:
            raise Refusal("not_found")
        return {"receipt": self.receipts[params["request_id"]]}

    def _do_agents_history(self, params: Json, _: Json) -> Json:
        after, before, limit = params.get("after_seq"), params.get("before_seq"), params["limit"]
        rows = [m for m in self.messages if m["seq"] > (after or 0) and m["seq"] < (before or 10**9)]
        page = rows[:limit] if after is not None else rows[-limit:]
        return {"items": page, "has_more": len(page) < len(rows)}

    def _do_agents_stop_turn(self, params: Json, _: Json) -> Json:
        return {"receipt": {"state": "done"}, "outcome": "stopping"}

    def _do_agents_activity(self, _params: Json, _: Json) -> Json:
        return self.activity

    def _do_agents_approvals_list(self, params: Json, _: Json) -> Json:
        rows = [card for card in self.approvals.values() if card["state"] == params.get("state", card["state"])]
        return {"items": [{k: v for k, v in card.items() if k != "details"} for card in rows], "next_cursor": None}

    def _do_agents_approvals_get(self, params: Json, _: Json) -> Json:
        if params["approval_id"] not in self.approvals:
            raise Refusal("not_found")
        return {"approval": self.approvals[params["approval_id"]]}

    def _do_agents_approvals_decide(self, params: Json, _: Json) -> Json:
        card = self.approvals[params["approval_id"]]
        if card["version"] != params["version"]:
            raise Refusal("approval_version_conflict", version=card["version"])
        if card["action_digest"] != params["action_digest"]:
            raise Refusal("action_digest_mismatch")
        card["version"] += 1
        card["state"] = {"allow_once": "approved", "deny": "denied"}[params["decision"]]
        return {"receipt": {"state": "done"}, "approval": {k: v for k, v in card.items() if k != "details"}}

    def _do_host_session_attachment_read(self, params: Json, _: Json) -> Json:
        return self._slice(params["attachment_id"], params)

    def _do_agents_tasks_artifact_read(self, params: Json, _: Json) -> Json:
        return self._slice(params["artifact_id"], params)

    def _slice(self, file_id: str, params: Json) -> Json:
        whole = base64.b64encode(self.files[file_id]).decode()
        data = whole[params["offset"] : params["offset"] + params["length"]]
        return {"data": data, "total_base64_length": len(whole), **params, **self._file(file_id)}


class _Server(uvicorn.Server):
    """A server inside the test's own loop, which leaves the process's signals alone."""

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve(stand_in: StandIn, port: int) -> AsyncIterator[str]:
    """Serve the stand-in on a loopback port; yields its address."""
    config = uvicorn.Config(
        stand_in.app,
        host="127.0.0.1",
        port=port,
        # uvicorn's own set-up of logging would stay for the tests after these.
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        if serving.done():
            await serving
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await stand_in.drop_connections()
        server.should_exit = True
        await serving
