"""`host.session.attachment.read` and `agents.tasks.artifact.read`: files in base64 slices (C10)."""

import asyncio
from collections.abc import Mapping
from typing import Any

from adapters.content_store import ContentStore
from host.call import Call
from host.methods.method import Method, Result
from host.rpc import params
from host.services import Services
from store import views


async def read_attachment(services: Services, call: Call[params.AttachmentRead]) -> Result:
    """A slice of an attachment of a message of the main conversation."""
    wanted = call.params
    async with services.reading() as tx:
        row = await views.message_attachment(tx, wanted.session_id, wanted.message_seq, wanted.attachment_id)
    return await _slice(services.managed_files.attachments, wanted.attachment_id, wanted, row)


async def read_artifact(services: Services, call: Call[params.ArtifactRead]) -> Result:
    """A slice of a file that a task's result names."""
    wanted = call.params
    async with services.reading() as tx:
        row = await views.artifact_of(tx, wanted.task_id, wanted.artifact_id)
    return await _slice(services.managed_files.artifacts, wanted.artifact_id, wanted, row)


async def _slice(store: ContentStore, content_id: str, wanted: params.Slice, row: Any) -> Result:  # noqa: ANN401
    piece = await asyncio.to_thread(store.read_base64, content_id, wanted.offset, wanted.length)
    return {
        "data": piece.data,
        "offset": piece.offset,
        "total_base64_length": piece.total_base64_length,
        "sha256": row.sha256,
        "media_type": row.media_type,
        "size": row.size,
    }


METHODS: Mapping[str, Method] = {
    "host.session.attachment.read": Method(read_attachment, params.AttachmentRead),
    "agents.tasks.artifact.read": Method(read_artifact, params.ArtifactRead),
}
