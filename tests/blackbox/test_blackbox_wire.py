"""Every method with everything it must not be given: a stable code each time, and nothing left behind (api.md)."""

import json
from collections.abc import Iterator

import pytest

from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import HELLO, Json
from tests.blackbox.work import look

ID, DIGEST = "task_01J00000000000000000000000", "a" * 64
SAID: Json = {"text": "never stored"}
CARD: Json = {"approval_id": "approval_x", "version": 1, "action_digest": DIGEST, "decision": "deny"}
SLICE: Json = {"offset": 0, "length": 4}

METHODS: dict[str, tuple[Json, bool, bool]] = {
    # name: (parameters of the right types, writes, takes an input)
    "agents.send": ({"session_id": "S", "draft_id": "draft_x"}, True, True),
    "agents.receipt": ({"request_id": "wire:none"}, False, False),
    "agents.history": ({"session_id": "S", "before_seq": 5, "after_seq": 1, "limit": 2}, False, False),
    "agents.stop_turn": ({"session_id": "S", "turn_id": "turn_x"}, True, False),
    "agents.activity": ({}, False, False),
    "agents.tasks.create": (
        {"title": "t", "agent_id": "twin", "engine": "native", "permission_mode": "standard",
         "attachment_ids": ["attachment_x"], "grant_ref": "grant_x"}, True, True,
    ),
    "agents.tasks.list": (
        {"state": "running", "agent_id": "twin", "automation_id": "automation_x", "limit": 2}, False, False,
    ),
    "agents.tasks.get": ({"task_id": ID}, False, False),
    "agents.tasks.artifact.read": ({"task_id": ID, "artifact_id": "artifact_x", **SLICE}, False, False),
    "agents.approvals.list": ({"state": "pending", "limit": 2}, False, False),
    "agents.approvals.get": ({"approval_id": "approval_x"}, False, False),
    "agents.approvals.decide": (CARD, True, False),
    "agents.effects.list": ({"task_id": ID, "turn_id": "turn_x", "state": "failed", "limit": 2}, False, False),
    "agents.effects.settle": ({"effect_id": "effect_x", "outcome": "failed", "note": "n"}, True, False),
    "agents.grants.propose": ({"task_id": ID}, True, False),
    "agents.grants.issue": ({"proposal_id": "proposal_x", "lifetime_s": 60}, True, False),
    "agents.grants.list": ({"limit": 2}, False, False),
    "agents.grants.revoke": ({"grant_ref": "grant_x", "reason": "r"}, True, False),
    "agents.rules.list": ({"limit": 2}, False, False),
    "agents.rules.preview": ({"approval_id": "approval_x"}, False, False),
    "agents.rules.save": ({"approval_id": "approval_x", "scope_digest": DIGEST, "mode": "allow"}, True, False),
    "agents.rules.update": ({"rule_id": "rule_x", "expected_revision": 1, "paused": True}, True, False),
    "agents.rules.delete": ({"rule_id": "rule_x", "expected_revision": 1}, True, False),
    "agents.settings.get": ({}, False, False),
    "agents.settings.update": ({"expected_revision": 1, "changes": {"aggregation_s": 5}}, True, False),
    "agents.audit.list": ({"limit": 2}, False, False),
    "host.session.attachment.read": (
        {"session_id": "S", "message_seq": 1, "attachment_id": "attachment_x", **SLICE}, False, False,
    ),
}  # fmt: skip
OPTIONAL = {
    "draft_id", "before_seq", "after_seq", "limit", "agent_id", "engine", "permission_mode", "attachment_ids",
    "automation_id", "state",
}  # fmt: skip
OPTIONAL_OF = {
    "agents.effects.list": {"task_id", "turn_id"},
    "agents.tasks.create": {"grant_ref"},
    "agents.grants.issue": {"lifetime_s"},
    "agents.grants.revoke": {"reason"},
    "agents.rules.update": {"mode", "paused"},
}
NOT_HERE = (
    "agents.automations.fire",
    "agents.memory.search", "agents.react", "agents.search", "agents.tasks.branch", "agents.drafts.list",
    "devices.pair", "devices.list", "devices.revoke", "agents.Send", "agents.send ", "", "__init__", "initialize",
)  # fmt: skip
WRONG: tuple[object, ...] = (None, True, 1.5, -1, 2**70, "", "x" * 5000, [], [1], {}, {"a": {"b": []}}, [[]] * 20)
ABSENT = object()
WRONG_INPUTS: tuple[object, ...] = (
    7, "text", [], {}, {"text": 1}, {"text": None}, {"text": "x", "extra": 1}, {"text": "\x00"},
    {"text": "x", "attachment_ids": "a"}, {"text": "x", "attachment_ids": [1]}, ABSENT,
)  # fmt: skip
LIMITS: dict[str, tuple[object, ...]] = {
    "limit": (0, 101, -5, "50"),
    "offset": (-1, "0"),
    "length": (0, 524_289),
    "message_seq": (0,),
    "before_seq": (0,),
    "decision": ("allow", "always", "ALLOW_ONCE"),
    "outcome": ("unknown",),
    "permission_mode": ("root",),
    "engine": (),
    "title": ("", "x" * 201, " "),
    "request_id": ("a b", "x" * 129, "ü"),
}


def _fits(name: str, value: object) -> bool:
    """Whether a value that is wrong for most fields happens to be right for this one."""
    return (name, value) in (
        ("note", ""), ("reason", ""), ("attachment_ids", []), ("changes", {}), ("paused", True),
    )  # fmt: skip


def bad_calls() -> Iterator[tuple[str, str, object, Json]]:
    """Every method with one thing wrong: (what is wrong, method, parameters, envelope)."""
    for method, (good, writes, takes_input) in METHODS.items():
        envelope: Json = {"request_id": f"wire:{method}"} if writes else {}
        envelope |= {"user_input": SAID} if takes_input else {}
        for what, params in bad_params(method, good):
            yield what, method, params, envelope
        for what, wrong in bad_envelopes(writes, takes_input):
            yield what, method, good, {key: item for key, item in {**envelope, **wrong}.items() if item is not ABSENT}


def bad_params(method: str, good: Json) -> Iterator[tuple[str, object]]:
    """Parameters with one thing wrong."""
    optional = OPTIONAL | OPTIONAL_OF.get(method, set())
    for other in (7, "params", [], [1], True):
        yield f"params {other!r}", other
    yield "unknown field", {**good, "extra": 1}
    for name in good:
        if name not in optional:
            yield f"no {name}", {key: item for key, item in good.items() if key != name}
        for wrong in (*WRONG, *LIMITS.get(name, ())):
            if not _fits(name, wrong) and not (wrong is None and name in optional):
                yield f"{name}={str(wrong)[:30]}", {**good, name: wrong}


def bad_envelopes(writes: bool, takes_input: bool) -> Iterator[tuple[str, Json]]:
    """What may not stand beside the parameters."""
    if writes:
        for request_id in (None, "", "a b", "x" * 129, 7, {}, "a/b", ABSENT):
            yield f"request_id={request_id!r}", {"request_id": request_id}
    if takes_input:
        for wrong in WRONG_INPUTS:
            yield f"user_input={wrong!r}", {"user_input": wrong}
    else:
        yield "user_input where none belongs", {"user_input": SAID}
    for name in ("plugin", "connection_id", "user_space", "principal"):
        yield f"envelope.{name}", {name: "x"}


def _with_session(value: object, session: str) -> object:
    return {**value, "session_id": session} if isinstance(value, dict) and value.get("session_id") == "S" else value


async def test_wrong_parameters_of_every_method(shared: Instance) -> None:
    """H9, C8, T14, O19: each is `invalid_params`; no message, task, effect, card or receipt comes of it."""
    async with shared.client() as client:
        session = str(client.server["main_session_id"])
        before = await look(client)
        failures, tried = [], 0
        for what, method, params, envelope in bad_calls():
            answer = await client.plugin(method, _with_session(params, session), **envelope)
            tried += 1
            error = answer.get("error", {})
            if (error.get("code"), error.get("data", {}).get("code")) != (-32602, "invalid_params"):
                failures.append(f"{method}: {what}: {json.dumps(answer)[:200]}")
        assert not failures, f"{len(failures)} of {tried}:\n" + "\n".join(failures)
        assert tried > 500
        assert await look(client) == before
        for method, (_, writes, _) in METHODS.items():
            if writes:
                error = await client.error("agents.receipt", {"request_id": f"wire:{method}"})
                assert error["data"]["code"] == "not_found"


NEVER: tuple[object, ...] = (None, {"x": 1}, [], -3.5)
HOST_METHODS: dict[str, Json] = {
    "initialize": HELLO,
    "plugin/client/cancel": {"rpc_id": 1},
    "user-question/list": {"limit": 5},
    "user-question/respond": {
        "question_id": "question_x", "revision": 1, "answer": {"text": "yes"}, "request_id": "wire:respond",
    },
    "user-question/cancel": {"question_id": "question_x", "revision": 1, "request_id": "wire:cancel"},
}  # fmt: skip


async def test_wrong_parameters_of_the_host_s_own_methods(shared: Instance) -> None:
    """H9: strict everywhere; what is not there is not found; another protocol version is refused."""
    async with shared.client() as client:
        for method, good in HOST_METHODS.items():
            wrongs: list[object] = [[], [1], {**good, "extra": 1}]
            wrongs += [{**good, name: other} for name in good for other in NEVER]
            for wrong in wrongs:
                answer = await client.answer(method, wrong)
                assert answer["error"]["code"] == -32602, (method, wrong, answer)
                assert answer["error"]["data"]["code"] == "invalid_params"
        for method in ("user-question/respond", "user-question/cancel"):
            answer = await client.answer(method, HOST_METHODS[method])
            assert answer["error"]["data"]["code"] == "not_found"
        assert (await client.answer("user-question/list"))["result"] == {"items": [], "next_cursor": None}
        newer = await client.answer("initialize", {**HELLO, "protocol_version": 2})
        assert newer["error"]["data"]["code"] == "invalid_params"
        assert (await client.answer("plugin/client/cancel", {"rpc_id": 999}))["result"] == {"cancelled": False}


async def test_what_is_not_a_request_is_answered_as_json_rpc_says(shared: Instance) -> None:
    """H9: -32700, -32600; no batch; the connection goes on."""
    frames = {
        "{": -32700, "": -32700, "nul": -32700, '{"a":NaN}': -32700, "[" * 50_000: -32700,
        "[]": -32600, "7": -32600, '"x"': -32600, "null": -32600, "{}": -32600,
        '[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]': -32600,
        '{"jsonrpc":"1.0","id":1,"method":"x"}': -32600,
        '{"jsonrpc":"2.0","method":"agents.send"}': -32600,
        '{"jsonrpc":"2.0","id":{},"method":"x"}': -32600,
        '{"jsonrpc":"2.0","id":1,"method":7}': -32600,
        '{"jsonrpc":"2.0","id":1,"method":"x","params":"text"}': -32600,
    }  # fmt: skip
    async with shared.connect() as socket:
        for frame, code in frames.items():
            await socket.send(frame)
            answer = json.loads(await socket.recv())
            assert answer["error"]["code"] == code, (frame[:60], answer)
        await socket.send(b"\x00\xff")
        assert json.loads(await socket.recv())["error"]["code"] == -32600
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}))
        assert "result" in json.loads(await socket.recv())


async def test_nothing_before_initialize(shared: Instance) -> None:
    """H9: every method but `initialize` is refused, unknown ones included."""
    async with shared.connect() as socket:
        for number, method in enumerate(("plugin/client/request", "shutdown", "user-question/list", "nonsense"), 1):
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {}}))
            error = json.loads(await socket.recv())["error"]
            assert (error["code"], error["data"]["code"]) == (-32000, "not_initialized")


async def test_unknown_methods_and_plug_ins(shared: Instance) -> None:
    """H9, H7, H20: -32601 with `method_not_found`, also for what later issues bring; no plug-in but `personal`."""
    async with shared.client() as client:
        for method in NOT_HERE:
            error = await client.error(method or "-", {}, request_id="wire:unknown")
            assert (error["code"], error["data"]["code"]) == (-32601, "method_not_found"), method
        answer = await client.answer("agents.send", {})
        assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (-32601, "method_not_found")
        other = {"plugin_id": "coding", "method": "agents.activity", "params": {}}
        answer = await client.answer("plugin/client/request", other)
        assert answer["error"]["data"]["code"] == "service_not_available"
        for differing in ({"graph_generation": 999}, {"fingerprint": "0" * 64}):
            error = await client.error("agents.activity", {}, **differing)
            assert error["data"]["code"] == "composition_changed"
        (module,) = [each for each in client.server["composition"]["modules"] if each["id"] == "personal"]
        generation = client.server["composition"]["graph_generation"]
        await client.call("agents.activity", {}, fingerprint=module["fingerprint"], graph_generation=generation)


REFUSED: tuple[tuple[str, str, Json, Json], ...] = (
    ("not_found", "agents.send", {"session_id": "S"}, {"user_input": {"text": "x", "mcp_server_ids": ["mcp_x"]}}),
    ("not_found", "agents.send", {"session_id": "S"}, {"user_input": {"text": "x", "attachment_ids": ["a_x"]}}),
    ("not_found", "agents.send", {"session_id": "S", "draft_id": "draft_x"}, {"user_input": {"text": "x"}}),
    ("engine_unavailable", "agents.send", {"session_id": "S"}, {"user_input": {"text": "x", "engine": "codex"}}),
    ("session_mismatch", "agents.send", {"session_id": "session_x"}, {"user_input": {"text": "x"}}),
    ("session_mismatch", "agents.history", {"session_id": "session_x"}, {}),
    ("not_found", "agents.tasks.create", {"title": "t", "agent_id": "other"}, {"user_input": {"text": "x"}}),
    ("not_found", "agents.tasks.create", {"title": "t", "grant_ref": "grant_x"}, {"user_input": {"text": "x"}}),
    ("not_found", "agents.tasks.create", {"title": "t", "attachment_ids": ["a_x"]}, {"user_input": {"text": "x"}}),
    ("engine_unavailable", "agents.tasks.create", {"title": "t", "engine": "claude"}, {"user_input": {"text": "x"}}),
    ("not_found", "agents.tasks.get", {"task_id": ID}, {}),
    ("not_found", "agents.tasks.artifact.read", {"task_id": ID, "artifact_id": "artifact_x", **SLICE}, {}),
    ("not_found", "agents.receipt", {"request_id": "wire:nobody"}, {}),
    ("not_found", "agents.stop_turn", {"session_id": "S", "turn_id": "turn_x"}, {}),
    ("not_found", "agents.approvals.get", {"approval_id": "approval_x"}, {}),
    ("not_found", "agents.approvals.decide", CARD, {}),
    ("not_found", "agents.effects.settle", {"effect_id": "effect_x", "outcome": "failed", "note": "n"}, {}),
    ("not_found", "host.session.attachment.read",
     {"session_id": "S", "message_seq": 1, "attachment_id": "attachment_x", **SLICE}, {}),
)  # fmt: skip


async def test_refusals_have_their_codes_and_leave_nothing(shared: Instance) -> None:
    """P1, X2, H6: well-formed requests for what is not here."""
    async with shared.client() as client:
        session = str(client.server["main_session_id"])
        before = await look(client)
        for number, (code, method, params, envelope) in enumerate(REFUSED):
            request_id = {"request_id": f"refused:{number}"} if METHODS[method][1] else {}
            error = await client.error(method, _with_session(params, session), **request_id, **envelope)
            assert (error["code"], error["data"]["code"]) == (-32000, code), (method, params, error)
            if request_id:
                again = await client.error("agents.receipt", request_id)
                assert again["data"]["code"] == "not_found"
        assert await look(client) == before


@pytest.mark.parametrize(
    ("said", "limit", "value"),
    [
        ({"text": "é" * 32_001}, 64_000, 64_002),
        ({"text": "x", "attachment_ids": [f"attachment_{number}" for number in range(17)]}, 16, 17),
        ({"text": ""}, None, None),
        ({"text": " \n\t"}, None, None),
    ],
    ids=["C8-text", "C8-attachments", "C8-empty", "C8-blank"],
)
async def test_the_limits_of_an_input(shared: Instance, said: Json, limit: int | None, value: int | None) -> None:
    """C8: the code with the limit and the value; nothing is stored."""
    async with shared.client() as client:
        session = {"session_id": client.server["main_session_id"]}
        before = await client.history()
        error = await client.error("agents.send", session, request_id="limit:1", user_input=said)
        assert (error["code"], error["data"]["code"]) == (-32602, "invalid_params")
        if limit is not None:
            assert (error["data"]["limit"], error["data"]["value"]) == (limit, value)
        assert await client.history() == before


async def test_the_largest_text_is_accepted_whole(shared: Instance) -> None:
    """C8: 64,000 bytes exactly; what is stored is what was sent."""
    text = "[[say:long]]" + "é" * 31_994
    assert len(text.encode()) == 64_000
    receipt = await shared.send(text, "limit:fits")
    stored = next(m for m in await shared.history() if m["seq"] == receipt["message_seq"])
    assert stored["text"] == text

