"""`POST /api/attachments`: an upload streamed to disk and cut off at the limit (C9)."""

import asyncio
import binascii
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect

from adapters.file_access import FileAccessError
from domain.file_names import safe_name
from domain.limits import ATTACHMENT_BYTES
from domain.refusal import Refused, refuse
from host.http.sign_in import require
from host.services import Services
from store.attachments import add_upload, upload_view

MAX_NAME_BYTES: Final = 4096
HEADER: Final = "X-Filename"
PATIENCE_S: Final = 2.0
PATIENCE_BYTES: Final = 5 * ATTACHMENT_BYTES
"""How long, and how much, the sender of a refused upload may still send; then it is answered and cut off."""


def attachment_router(services: Services) -> APIRouter:
    """The upload route."""
    router = APIRouter()

    @router.post("/api/attachments", status_code=201)
    async def upload(request: Request) -> dict[str, Any]:
        """Store the request's raw body as an attachment; `X-Filename` is its name, percent-encoded UTF-8."""
        await require(services, request)
        name = _name_of(request)
        content = request.stream()
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > ATTACHMENT_BYTES:
            await _take_a_little(content)
            words = f"The file is larger than {ATTACHMENT_BYTES} bytes. Send a smaller one."
            raise refuse("limit_exceeded", words, limit=ATTACHMENT_BYTES)
        try:
            return await _store(services, content, name)
        except Refused:
            await _take_a_little(content)
            raise
        except ClientDisconnect:
            raise refuse("invalid_params", "The upload ended before it was complete.") from None
        except FileAccessError as error:
            raise refuse("orchestrator_unavailable", f"The upload cannot be stored ({error.reason}).") from error

    return router


async def _take_a_little(content: AsyncIterator[bytes]) -> None:
    """Throw away what is still coming, for a moment: a sender that is cut off while it sends often reads no answer."""
    left = PATIENCE_BYTES
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(PATIENCE_S):
            async for piece in content:
                left -= len(piece)
                if left < 0:
                    return


def _name_of(request: Request) -> str:
    encoded = request.headers.get(HEADER)
    if not encoded or len(encoded) > MAX_NAME_BYTES:
        words = f"{HEADER} must be the file's name, percent-encoded UTF-8."
        raise refuse("invalid_params", words, limit=MAX_NAME_BYTES)
    try:
        return safe_name(unquote_to_bytes(encoded.encode("ascii")).decode("utf-8"))
    except (UnicodeError, binascii.Error):
        raise refuse("invalid_params", f"{HEADER} is not percent-encoded UTF-8.") from None


async def _store(services: Services, stream: AsyncIterator[bytes], name: str) -> dict[str, Any]:
    """Bytes first, then the row: a row never lacks its bytes, and bytes without a row are swept."""
    store = services.managed_files.attachments
    received = await store.receive(stream, ATTACHMENT_BYTES, name)
    attachment_id = services.database.ids("attachment")
    await asyncio.to_thread(store.commit, received, attachment_id)
    async with services.database.write(services.scope) as tx:
        row = add_upload(
            tx, attachment_id, name=name, media_type=received.media_type, size=received.size, sha256=received.sha256
        )
        return upload_view(row)
