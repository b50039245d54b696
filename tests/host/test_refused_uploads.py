"""An upload over the limit: its sender may read why, and the host does not read on (C9)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from domain.limits import ATTACHMENT_BYTES
from host.http import attachments
from tests.host.conftest import Host

PIECE = b"x" * 65536


def _head(host: Host, *lines: str) -> bytes:
    head = ["POST /api/attachments HTTP/1.1", f"Host: 127.0.0.1:{host.settings.port}",
            f"Authorization: Bearer {host.token}", "X-Filename: a.bin", *lines]  # fmt: skip
    return "\r\n".join([*head, "", ""]).encode()


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
async def test_the_host_does_not_read_an_endless_upload(
    host: Host, monkeypatch: pytest.MonkeyPatch, announced: bool
) -> None:
    """C9: after a moment the connection ends, however much is still to come."""
    monkeypatch.setattr(attachments, "PATIENCE_S", 0.3)
    reader, writer = await asyncio.open_connection("127.0.0.1", host.settings.port)
    writer.write(_head(host, "Content-Length: 99999999999" if announced else "Transfer-Encoding: chunked"))

    async def send() -> None:
        piece = PIECE if announced else b"10000\r\n" + PIECE + b"\r\n"
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    async def read() -> bytes:
        received = b""
        while piece := await reader.read(65536):
            received += piece
        return received

    sending = asyncio.create_task(send())
    try:
        async with asyncio.timeout(60):
            with pytest.raises(ConnectionError):
                await sending
            # Whoever goes on sending may lose the answer with the connection.
            with suppress(ConnectionError):
                assert b"413" in (await read())[:20]
    finally:
        sending.cancel()
        writer.close()


async def test_who_comes_to_an_end_reads_the_code(host: Host) -> None:
    """C9: 413 `limit_exceeded` with the limit, and the connection is not used again."""

    async def content() -> AsyncIterator[bytes]:
        for _ in range(ATTACHMENT_BYTES // len(PIECE) + 2):
            yield PIECE

    async with host.http() as http:
        answer = await http.post("/api/attachments", content=content(), headers={"X-Filename": "a.bin"})
        again = await http.get("/readyz")
    assert again.status_code in (200, 503)
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")
    assert json.loads(answer.content)["limit"] == ATTACHMENT_BYTES
