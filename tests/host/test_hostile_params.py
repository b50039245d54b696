"""Schema-driven fuzzing of every method (O19): an answer with a known code every time, and the connection goes on."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from host.methods.registry import PERSONAL_METHODS
from host.rpc import params
from tests.host.conftest import Host

HOST_PARAMS: dict[str, type[BaseModel]] = {
    "initialize": params.Initialize,
    "plugin/client/request": params.PluginRequest,
    "plugin/client/cancel": params.Cancel,
    "user-question/list": params.QuestionList,
    "user-question/respond": params.QuestionRespond,
    "user-question/cancel": params.QuestionCancel,
}
KNOWN = {
    "invalid_params", "not_found", "session_mismatch", "request_id_conflict", "engine_unavailable",
    "service_not_available", "method_not_found", "composition_changed", "revision_conflict",
}  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=30)
    | st.sampled_from(["\x00", "\ud800", "x" * 5000, "' OR 1=1 --", "../../etc/passwd", "accepted"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def _objects(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the model's own fields, each present or not and of any type, and now and then a foreign one."""
    known = {name: VALUES for name in model.model_fields}
    return st.fixed_dictionaries({}, optional={**known, "surplus": VALUES})


def _check(answer: dict[str, Any]) -> None:
    assert ("result" in answer) != ("error" in answer)
    if "error" in answer:
        assert answer["error"]["data"]["code"] in KNOWN, answer
        assert answer["error"]["code"] in (-32602, -32601, -32000)


@pytest.mark.parametrize("method", PERSONAL_METHODS)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
async def test_wrong_types_on_every_method(shared_host: Host, method: str, data: st.DataObject) -> None:
    """O19, H9: no internal error, no hang, no lost connection, whatever the parameters are."""
    given_params = data.draw(_objects(PERSONAL_METHODS[method].params))
    if data.draw(st.booleans()) and "session_id" in PERSONAL_METHODS[method].params.model_fields:
        given_params["session_id"] = shared_host.session
    envelope = data.draw(st.fixed_dictionaries({}, optional={
        "request_id": VALUES | st.from_regex(r"fuzz:[a-z]{12}", fullmatch=True),
        "user_input": VALUES | _objects(params.UserInput) | st.just({"text": "x"}),
        "fingerprint": VALUES,
        "graph_generation": VALUES,
    }))  # fmt: skip
    async with shared_host.rpc() as client:
        _check(await client.call(method, given_params, **envelope))
        assert "result" in await client.request("plugin/client/cancel", {"rpc_id": 1})


@pytest.mark.parametrize("method", HOST_PARAMS)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
async def test_wrong_types_on_the_hosts_methods(shared_host: Host, method: str, data: st.DataObject) -> None:
    """O19, H9: the same for the methods of the transport itself."""
    async with shared_host.rpc() as client:
        _check(await client.request(method, data.draw(_objects(HOST_PARAMS[method]) | st.just({}))))
        assert "result" in await client.request("plugin/client/cancel", {"rpc_id": 1})


@given(frame=st.text(max_size=200) | VALUES.map(json.dumps))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
async def test_any_frame_is_answered(shared_host: Host, frame: str) -> None:
    """O19: malformed frames."""
    async with shared_host.rpc() as client:
        answer = await client.raw(frame.encode("utf-8", "replace").decode())
        assert answer["error"]["code"] in (-32700, -32600)
