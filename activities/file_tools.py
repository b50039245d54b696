"""Tool calls that read this machine's files: the files root's own refusals are what the model is told (E3)."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.files_root import FilesRoot
from adapters.managed_files import ManagedFiles, StoredArtifact
from assistant import tool_results
from assistant.tool_arguments import ListFiles, ReadFile, SubmitResult
from contracts.run import RunPoint
from domain.run import RunRef
from store import tasks
from store.database import Transaction
from store.tables_work import ArtifactRow

READ_BYTES = 256 * 1024
ARTIFACT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a result that is in the managed store under its id."""

    artifact_id: str
    stored: StoredArtifact


async def read_file(files: FilesRoot, arguments: ReadFile) -> str:
    """The beginning of a text file."""
    found = await asyncio.to_thread(files.read_text, arguments.path, READ_BYTES)
    return tool_results.file_read(found.text, size=found.size, truncated=found.truncated)


async def list_files(files: FilesRoot, arguments: ListFiles) -> str:
    """A folder's files and folders."""
    listing = await asyncio.to_thread(files.list_folder, arguments.path or "")
    entries = [
        {"name": entry.name, "kind": entry.kind, **({"size": entry.size} if entry.kind == "file" else {})}
        for entry in listing.entries
        if entry.kind != "other"
    ]
    return tool_results.files_listed(entries, truncated=listing.truncated)


async def copy_artifacts(managed: ManagedFiles, point: RunPoint, arguments: SubmitResult) -> list[Artifact]:
    """Copy the files a result names, each once: the ids come from the call, so a repeated call copies nothing anew."""
    copies = []
    for place, path in enumerate(arguments.artifacts or ()):
        name = f"{point.run.run_id}:{point.step}:{point.index}:{place}"
        artifact_id = f"artifact_{hashlib.sha256(name.encode()).hexdigest()[:26]}"
        stored = await asyncio.to_thread(managed.store_artifact, path, artifact_id, ARTIFACT_BYTES)
        copies.append(Artifact(artifact_id, stored))
    return copies


async def submit_with(tx: Transaction, run: RunRef, summary: str, artifacts: Sequence[Artifact]) -> str:
    """Complete the task with a result and its files (T5)."""
    rows = [
        ArtifactRow(
            artifact_id=artifact.artifact_id,
            task_id=run.task_id,
            requirement_version=run.requirement_version,
            attempt=run.attempt,
            name=artifact.stored.name,
            media_type=artifact.stored.media_type,
            size=artifact.stored.size,
            sha256=artifact.stored.sha256,
            created_at=tx.now,
        )
        for artifact in artifacts
    ]
    await tasks.succeed(tx, run, summary, rows)
    return tool_results.noted()
