"""The check of every start (E19): a legacy review ledger in the state folder is never replaced in silence.

The ledger may stay where it is after its import; then each start reads it again, since only what it says shows that
it is what was imported.
"""

import asyncio
import shutil
from pathlib import Path

from domain.legacy_ledger import FILE_NAME
from domain.refusal import Refused, refuse
from host.legacy_copy import FOLDER, frozen, ledger_exists
from runtime.settings import Settings
from store.database import Database, Scope
from store.legacy_import import target_of
from store.legacy_source import open_source

CODE = "personal_review_legacy_migration_required"


async def require_migrated(settings: Settings, database: Database) -> None:
    """Insist that a ledger in the state folder was imported as it is now.

    Args:
        settings: Of this host, whose lock is held.
        database: The control plane, with this version's schema.

    Raises:
        Refused: `personal_review_legacy_migration_required`.
    """
    if not ledger_exists(settings.state_dir):
        # What a killed import left holds private text, and nobody would look for it again.
        shutil.rmtree(settings.state_dir / FOLDER, ignore_errors=True)
        return
    marker = (await target_of(database, Scope(settings.user_space, settings.product_domain))).marker
    if marker is None:
        raise _required(f"{FILE_NAME} of an earlier version is in the state folder and was not imported.", settings)
    try:
        found = await asyncio.to_thread(_read, settings.state_dir)
    except Refused as refused:
        raise _required(f"{FILE_NAME} cannot be compared with what was imported: {refused}", settings) from None
    if found != (marker.source_path, marker.source_digest):
        raise _required(f"{FILE_NAME} is not the one that was imported: it was changed or moved.", settings)


def _read(state_dir: Path) -> tuple[str, str]:
    with frozen(state_dir) as ledger, open_source(ledger.copy) as source:
        return ledger.source, source.digest


def _required(what: str, settings: Settings) -> Refused:
    command = f"steward state migrate-personal-review --user-space {settings.user_space} --composition-profile personal"
    words = f"{what} Stop every host of this user space, keep a backup, and look at it by `{command}`."
    return refuse(CODE, words)
