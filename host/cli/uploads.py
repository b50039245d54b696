"""Uploads files as attachments through the host (C9)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import quote

import httpx

from domain.refusal import Refusal, Refused, refuse
from host.cli.failures import Unreachable
from host.cli.place import host_address, owner_token
from runtime.settings import Settings

PIECE: Final = 256 * 1024
LIMIT_S: Final = 60.0


async def upload(settings: Settings, paths: list[Path]) -> tuple[str, ...]:
    """Upload files and return their attachment ids, in order.

    Raises:
        Refused: When a file cannot be read, or the host refuses it.
        Unreachable: When no host answers.
    """
    if not paths:
        return ()
    headers = {"Authorization": f"Bearer {owner_token(settings)}"}
    address = host_address(settings)
    try:
        async with httpx.AsyncClient(
            base_url=f"http://{address}", headers=headers, timeout=LIMIT_S, trust_env=False
        ) as client:
            return tuple([await _upload(client, path) for path in paths])
    except httpx.TransportError:
        words = f"No host answers at {address}. Start it by `steward up`, or see STEWARD_PORT."
        raise Unreachable(words) from None


async def _upload(client: httpx.AsyncClient, path: Path) -> str:
    try:
        with path.open("rb") as file:
            name = {"X-Filename": quote(path.name.encode("utf-8", "surrogateescape"))}
            answer = await client.post("/api/attachments", content=_pieces(file), headers=name)
    except OSError as error:
        raise refuse("invalid_params", f"The file {path.name!r} cannot be read ({error.strerror}).") from None
    return str(_result(answer)["attachment_id"])


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := file.read(PIECE):
        yield piece


def _result(answer: httpx.Response) -> dict[str, Any]:
    try:
        body: dict[str, Any] = answer.json()
    except ValueError:
        raise Unreachable("What answers there is no host of Steward. See STEWARD_PORT.") from None
    if answer.is_error:
        words = str(body.get("detail") or body.get("title") or "The upload was refused.")
        raise Refused(Refusal(str(body.get("code", "internal_error")), words))
    return body
