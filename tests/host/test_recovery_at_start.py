"""The host's start tells Temporal again what has not come to its end (T10, D12, S9)."""

from collections.abc import Callable
from pathlib import Path

from host.serve import open_host
from runtime.folders import prepare_folders
from runtime.settings import Settings
from store import outbox
from store.tables_host import OutboxRow
from tests.control_acts import stopped, within
from tests.control_plane import Plane
from tests.host.conftest import ISOLATION, serving


async def test_what_was_told_is_told_again_at_the_next_start(
    host_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    """T10, S9: a stop and a queued turn that Temporal had heard of; both may have been lost there."""
    settings = host_settings(tmp_path)
    async with serving(settings) as host:
        plane = Plane(host.services.database, host.services.scope, host.session)
        turn_id = (await plane.send()).turn_id
        intent = await stopped(plane, (await plane.attempt()).task_id)
        entries = [entry.entry_id for entry in await plane.rows(OutboxRow)]
        await within(plane, lambda tx: outbox.done(tx, entries))
    prepare_folders(settings)
    async with open_host(settings, ISOLATION) as again:
        plane = Plane(again.parts.database, again.services.scope, again.services.main_session_id)
        waiting = await plane.rows(OutboxRow, OutboxRow.done_at.is_(None))
        assert {(entry.kind, entry.subject_id) for entry in waiting} == {
            (outbox.CONVERSATION_WAKE, turn_id),
            (outbox.STOP_START, intent.intent_id),
        }
