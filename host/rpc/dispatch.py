"""From a request to its answer: the host's own methods, and the plug-in's behind them (H8, H9).

The order of the checks is the contract's: initialised, method, composition, right, locality, then the method's own.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

import structlog

from domain.limits import ATTACHMENT_BYTES, ATTACHMENTS, TEXT_BYTES
from domain.refusal import Refused, accepted, refuse
from domain.request import check_request_id
from host.call import Call, ForegroundPermission, Revoked
from host.methods import attention, questions
from host.methods.registry import PERSONAL_METHODS
from host.rpc import params
from host.rpc.errors import INTERNAL_ERROR, REFUSED, error_object, of_refusal
from host.rpc.framing import MAX_FRAME_BYTES, Request
from host.rpc.peer import Peer
from host.services import Services
from store.outage import AWAY
from store.questions import Settlement

LOCAL_ONLY: Final = "Local settings are available on localhost only"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of one connection, and the permission it runs under."""

    services: Services
    peer: Peer
    raw: Any
    permission: ForegroundPermission


async def answer(services: Services, peer: Peer, request: Request, permission: ForegroundPermission) -> dict[str, Any]:
    """Carry out a request; every outcome is a JSON-RPC answer."""
    try:
        result = await _perform(Exchange(services, peer, request.params, permission), request.method)
        permission.seal()
    except Refused as refused:
        return _failed(request, of_refusal(refused.refusal))
    except Revoked:
        return _failed(request, error_object(REFUSED, "This call was cancelled before it was accepted.", "cancelled"))
    except AWAY as error:
        log.warning("database_unavailable", error=type(error.orig).__name__)
        words = "The database does not answer; nothing was accepted. Try again."
        return _failed(request, error_object(REFUSED, words, "orchestrator_unavailable"))
    except Exception as error:
        log.error("call_failed", error=type(error).__name__, at=_place(error))
        return _failed(request, error_object(INTERNAL_ERROR, "The host failed at this call.", "internal_error"))
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


async def _perform(exchange: Exchange, method: str) -> dict[str, Any]:
    if method != "initialize" and not exchange.peer.seat.initialised:
        raise refuse("not_initialized", "Call initialize first.")
    function = _HOST_METHODS.get(method)
    if function is None:
        raise refuse("method_not_found", "No such method.")
    return await function(exchange)


async def _initialize(exchange: Exchange) -> dict[str, Any]:
    params.validated(params.Initialize, exchange.raw)
    services = exchange.services
    exchange.peer.seat.initialised = True
    return {
        "protocol_version": params.PROTOCOL_VERSION,
        "connection_id": exchange.peer.connection_id,
        "server": {"name": "steward", "version": services.version},
        "user_space_id": services.scope.user_space,
        "product_domain": services.scope.domain,
        "user_host_isolation": dict(services.isolation),
        "composition": services.composition.view(),
        "main_session_id": services.main_session_id,
        "limits": {
            "text_bytes": TEXT_BYTES,
            "attachments": ATTACHMENTS,
            "attachment_bytes": ATTACHMENT_BYTES,
            "frame_bytes": MAX_FRAME_BYTES,
            "slice_base64": params.SLICE_BASE64,
        },
    }


async def _plugin_request(exchange: Exchange) -> dict[str, Any]:
    services, peer = exchange.services, exchange.peer
    envelope = params.validated(params.PluginRequest, exchange.raw)
    services.composition.check(envelope.plugin_id, envelope.fingerprint, envelope.graph_generation)
    method = PERSONAL_METHODS.get(envelope.method)
    if method is None:
        raise refuse("method_not_found", "No such method of this plug-in.")
    if method.local and not peer.principal.local:
        raise refuse("local_only", LOCAL_ONLY)
    if envelope.user_input is not None and not method.takes_input:
        raise refuse("invalid_params", "This method takes no user_input.", field="user_input")
    call = Call(
        principal=peer.principal,
        params=params.validated(method.params, envelope.params),
        permission=exchange.permission,
        request_id=envelope.request_id,
        user_input=envelope.user_input,
    )
    if method.writes:
        _ = call.write_id
    async with peer.write_order if method.writes else nullcontext():
        exchange.permission.check()
        return await method.function(services, call)


async def _cancel(exchange: Exchange) -> dict[str, Any]:
    wanted = params.validated(params.Cancel, exchange.raw)
    pending = exchange.peer.pending.get(wanted.rpc_id)
    return {"cancelled": pending is not None and pending is not exchange.permission and pending.revoke()}


async def _question_list(exchange: Exchange) -> dict[str, Any]:
    return await questions.list_questions(exchange.services, params.validated(params.QuestionList, exchange.raw))


async def _question_respond(exchange: Exchange) -> dict[str, Any]:
    wanted = params.validated(params.QuestionRespond, exchange.raw)
    if (wanted.answer.option_id is None) == (wanted.answer.text is None):
        raise refuse("invalid_params", "An answer is either option_id or text.", field="answer")
    answer = Settlement(
        wanted.question_id, wanted.revision, wanted.request_id, wanted.answer.option_id, wanted.answer.text
    )
    return await _settle_question(exchange, answer)


async def _question_cancel(exchange: Exchange) -> dict[str, Any]:
    wanted = params.validated(params.QuestionCancel, exchange.raw)
    return await _settle_question(exchange, Settlement(wanted.question_id, wanted.revision, wanted.request_id))


async def _settle_question(exchange: Exchange, wanted: Settlement) -> dict[str, Any]:
    accepted(check_request_id(wanted.request_id))
    peer = exchange.peer
    async with peer.write_order:
        return await questions.settle(exchange.services, wanted, peer.principal.id, exchange.permission)


async def _push_register(exchange: Exchange) -> dict[str, Any]:
    wanted, peer = params.validated(params.PushRegister, exchange.raw), exchange.peer
    async with peer.write_order:
        return await attention.register(exchange.services, wanted, peer.principal, exchange.permission)


async def _push_unregister(exchange: Exchange) -> dict[str, Any]:
    wanted, peer = params.validated(params.PushUnregister, exchange.raw), exchange.peer
    async with peer.write_order:
        return await attention.unregister(exchange.services, wanted, peer.principal, exchange.permission)


async def _shutdown(exchange: Exchange) -> dict[str, Any]:
    params.validated(params.NoParams, exchange.raw)
    exchange.peer.leaving = True
    return {}


_HOST_METHODS: Final[Mapping[str, Callable[[Exchange], Awaitable[dict[str, Any]]]]] = {
    "initialize": _initialize,
    "plugin/client/request": _plugin_request,
    "plugin/client/cancel": _cancel,
    "user-question/list": _question_list,
    "user-question/respond": _question_respond,
    "user-question/cancel": _question_cancel,
    "device/push/register": _push_register,
    "device/push/unregister": _push_unregister,
    "shutdown": _shutdown,
}


def _failed(request: Request, error: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.id, "error": error}


def _place(error: BaseException) -> str:
    """Where an unexpected error arose: file and line, never its text (I9)."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown"
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
