"""Maintenance of a legacy review ledger (E19): look at it, or import it, with the host stopped.

What admits it is shown with the host's lock held, and by this program alone (H22): the composition it would run with,
the owner of the state folder, a control plane that is nobody else's. An import whose end nobody saw is settled by the
marker that it committed, or did not.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import make_url

from domain.legacy_ledger import FILE_NAME
from domain.legacy_policy import MaintenanceFacts, may_maintain
from domain.refusal import Refused, accepted, refuse
from host.composition import compose
from host.legacy_copy import FrozenLedger, frozen, ledger_exists
from host.owner_credential import FILE_NAME as CREDENTIAL
from runtime.folders import prepare_folders
from runtime.instance_lock import exclusive_lock
from runtime.isolation import check_isolation
from runtime.settings import Settings
from store import schema
from store.database import Database, Scope
from store.legacy_import import Target, import_ledger, target_of
from store.legacy_source import LegacySource, open_source
from store.tables_legacy import LegacyImportRow
from store.wire_time import wire_time

PROVIDER: Final = "session.domain"
PRINCIPAL: Final = "owner"
_OTHERS: Final = 0o077

Json = dict[str, Any]


async def inspect_ledger(settings: Settings) -> Json:
    """Return what an import would take over, and whether it was done; nothing is imported.

    Raises:
        Refused: As `_admitted` and `open_source`; `not_found` where there is neither a ledger nor a marker.
    """
    with _admitted(settings):
        target = await _checked_target(settings)
        if not ledger_exists(settings.state_dir):
            return _imported_and_gone(target)
        with frozen(settings.state_dir) as ledger, open_source(ledger.copy) as source:
            return _report(_status(target, ledger, source), ledger, source, target)


async def apply_ledger(settings: Settings, expected_digest: str) -> Json:
    """Import the ledger, if it is still what was inspected; once it is imported, say so and do nothing.

    Raises:
        Refused: As `inspect_ledger`; `precondition_changed` when the source is not the expected one, or not the one
            that was imported; `maintenance_not_permitted` when the target is not empty.
    """
    with _admitted(settings):
        target = await _checked_target(settings)
        if not ledger_exists(settings.state_dir):
            return _imported_and_gone(target, expected_digest)
        with frozen(settings.state_dir) as ledger, open_source(ledger.copy) as source:
            if source.digest != expected_digest:
                words = "The source is not the one that was inspected. Inspect it again; nothing was imported."
                raise _changed(words, source)
            if target.marker is not None:
                if not _is_of(target.marker, ledger, source):
                    words = "Another ledger, or another state of this one, was imported before. Nothing is merged."
                    raise _changed(words, source)
                return _report("already-migrated", ledger, source, target)
            return _report("migrated", ledger, source, Target(await _import(settings, ledger, source)))


async def _import(settings: Settings, ledger: FrozenLedger, source: LegacySource) -> LegacyImportRow:
    database = Database(settings.effective_database_url)
    try:
        await schema.prepare(database)
        async with database.write(_scope(settings)) as tx:
            marker = await import_ledger(tx, source, ledger.source, PRINCIPAL)
            if not ledger.is_current():
                raise _changed("The source changed during the import, which was taken back. Inspect it again.", source)
        return marker
    finally:
        await database.close()


@contextmanager
def _admitted(settings: Settings) -> Iterator[None]:
    """Hold the host's lock for the owner of the state folder.

    Raises:
        Refused: `user_host_isolation_required` (H3), `not_found` without a state folder, `maintenance_not_permitted`
            for anybody but its owner, `host_locked` while a host runs.
    """
    check_isolation(settings)
    if not settings.state_dir.is_dir():
        raise refuse("not_found", f"There is no state folder of {settings.user_space}/{settings.product_domain} here.")
    # Before anything is touched; all of it is looked at again under the lock.
    if not _is_owned(settings.state_dir):
        _permit(settings, Target())
    prepare_folders(settings)
    words = "A host serves this user space and product domain. Stop it, and every other one, before its ledger moves."
    with exclusive_lock(settings.state_dir / "host.lock", words):
        yield


async def _checked_target(settings: Settings) -> Target:
    """The control plane, once the resource policy has said yes to working on it (E19)."""
    path = _store_file(settings)
    target = Target()
    if path is not None and path.is_file():
        database = Database(settings.effective_database_url)
        try:
            target = await target_of(database, _scope(settings))
        finally:
            await database.close()
    _permit(settings, target)
    return target


def _permit(settings: Settings, target: Target) -> None:
    credential = settings.state_dir / CREDENTIAL
    facts = MaintenanceFacts(
        provider_selected=compose(settings.composition_profile, settings.product_domain).provides(PROVIDER),
        folder_is_owned=_is_owned(settings.state_dir),
        credential_is_owned=not os.path.lexists(credential) or _is_owned(credential, stat.S_IFREG, _OTHERS),
        store_is_own_file=_store_file(settings) is not None,
        other_scopes=target.other_scopes,
    )
    accepted(may_maintain(facts))


def _is_owned(path: Path, kind: int = stat.S_IFDIR, closed_to: int = 0) -> bool:
    facts = path.stat() if kind == stat.S_IFDIR else path.lstat()
    return facts.st_uid == os.geteuid() and stat.S_IFMT(facts.st_mode) == kind and not facts.st_mode & closed_to


def _store_file(settings: Settings) -> Path | None:
    """The control plane's file, when it is one inside the state folder."""
    url = make_url(settings.effective_database_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    path = Path(os.path.realpath(url.database))
    return path if path.is_relative_to(os.path.realpath(settings.state_dir)) else None


def _scope(settings: Settings) -> Scope:
    return Scope(settings.user_space, settings.product_domain)


def _is_of(marker: LegacyImportRow, ledger: FrozenLedger, source: LegacySource) -> bool:
    return (marker.source_path, marker.source_digest) == (ledger.source, source.digest)


def _status(target: Target, ledger: FrozenLedger, source: LegacySource) -> str:
    settled = target.marker is not None and _is_of(target.marker, ledger, source)
    return "already-migrated" if settled else "migration-required"


def _report(status: str, ledger: FrozenLedger, source: LegacySource, target: Target) -> Json:
    obstacle = None
    if status == "migration-required":
        obstacle = "source_changed" if target.marker is not None else None if target.empty else "target_not_empty"
    return {
        "status": status,
        "provider": PROVIDER,
        "source_path": ledger.source,
        "source_digest": source.digest,
        "counts": source.counts,
        "marker": _marker_view(target.marker),
        "obstacle": obstacle,
    }


def _imported_and_gone(target: Target, expected_digest: str | None = None) -> Json:
    """The report of a ledger that was imported, and then moved away by its owner."""
    marker = target.marker
    if marker is None or expected_digest not in (None, marker.source_digest):
        raise refuse("not_found", f"There is no {FILE_NAME} in the state folder.")
    return {
        "status": "already-migrated",
        "provider": PROVIDER,
        "source_path": None,
        "source_digest": marker.source_digest,
        "counts": marker.counts,
        "marker": _marker_view(marker),
        "obstacle": None,
    }


def _marker_view(marker: LegacyImportRow | None) -> Json | None:
    if marker is None:
        return None
    return {
        "source_path": marker.source_path,
        "source_digest": marker.source_digest,
        "counts": marker.counts,
        "principal": marker.principal,
        "imported_at": wire_time(marker.imported_at),
    }


def _changed(words: str, source: LegacySource) -> Refused:
    return refuse("precondition_changed", words, reason="source_changed", source_digest=source.digest)
