"""JSON-RPC framing: one text frame to one request, or to the error that answers it (H9). No batches."""

import json
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeGuard

from host.rpc.errors import INVALID_REQUEST, PARSE_ERROR, error_object

MAX_FRAME_BYTES: Final = 1024 * 1024
MAX_ID_CHARACTERS: Final = 128

RpcId = str | int


@dataclass(frozen=True, slots=True)
class Request:
    """A well-formed request; nothing is known about its method and parameters yet."""

    id: RpcId
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Malformed:
    """What could not be a request, and the error that says so; `id` is None where none could be read."""

    id: RpcId | None
    error: dict[str, Any]


def parse(text: str) -> Request | Malformed:
    """Read one frame. Any text at all gives a request or an error."""
    try:
        frame = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Malformed(None, error_object(PARSE_ERROR, "The frame is not valid JSON.", "invalid_params"))
    if not isinstance(frame, dict):
        return _invalid(None, "The frame is not a JSON-RPC request object. Batches are not supported.")
    rpc_id, method = frame.get("id"), frame.get("method")
    if not _is_id(rpc_id):
        return _invalid(None, "id must be a string of at most 128 characters or a whole number.")
    if frame.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return _invalid(rpc_id, 'A request needs jsonrpc "2.0", an id and a method.')
    params = frame.get("params", {})
    if not isinstance(params, (dict, list)):
        return _invalid(rpc_id, "params must be an object.")
    return Request(rpc_id, method, params)


def _is_id(value: object) -> TypeGuard[RpcId]:
    if isinstance(value, str):
        return len(value) <= MAX_ID_CHARACTERS and value.isprintable()
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _invalid(rpc_id: RpcId | None, message: str) -> Malformed:
    return Malformed(rpc_id, error_object(INVALID_REQUEST, message, "invalid_params"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
