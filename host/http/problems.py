"""Errors over HTTP: RFC 9457 problem details with the same stable code as over JSON-RPC (api.md)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from domain.fault_words import fault_words, field_path
from domain.refusal import Refusal, Refused

_STATUS: Final[Mapping[str, int]] = {
    "unauthorized": 401, "forbidden": 403, "local_only": 403, "not_found": 404, "service_not_available": 404,
    "method_not_allowed": 405, "limit_exceeded": 413, "invalid_params": 422, "unknown_capability": 422,
    "internal_error": 500, "orchestrator_unavailable": 503,
}  # fmt: skip
_CONFLICT: Final = 409


def problem(code: str, detail: str, details: Mapping[str, Any] | None = None) -> JSONResponse:
    """The response for a code; codes without a status of their own are conflicts."""
    status = _STATUS.get(code, _CONFLICT)
    body = {
        **(details or {}),
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    headers = {"Cache-Control": "no-store"}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        # What is still on its way would otherwise be read to its end, however long that is (C9).
        headers["Connection"] = "close"
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def of_refusal(refusal: Refusal) -> JSONResponse:
    """The response for an expected refusal."""
    return problem(refusal.code, refusal.message, refusal.details)


def install_problems(app: FastAPI) -> None:
    """Answer every error of a route with problem details."""

    @app.exception_handler(Refused)
    async def refused(_request: Request, error: Refused) -> JSONResponse:
        return of_refusal(error.refusal)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = field_path(first)
        return problem("invalid_params", f"{field}: {fault_words(first)}.", {"field": field})

    @app.exception_handler(Exception)
    async def broken(_request: Request, _error: Exception) -> JSONResponse:
        return problem("internal_error", "The host failed at this request.")

    @app.exception_handler(HTTPException)
    async def failed(_request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return problem("method_not_allowed", "This address does not take this method.")
        if error.status_code == HTTPStatus.NOT_FOUND:
            return problem("not_found", "There is nothing at this address.")
        return problem("invalid_params", "The request cannot be read.")
