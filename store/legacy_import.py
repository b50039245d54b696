"""Copies a legacy ledger into the control plane, in one transaction with the marker that is bound to its source (E19).

Nothing that is written here can be decided, matched or dispatched: actions and audit entries are history, shown in the
audit list; rules are not taken over at all. The one thing that goes on to count is a choice about automatic review.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, insert, inspect, literal, select

from domain.legacy_ledger import AUTO_REVIEW, KIND_PREFIX, LegacyState, chosen_review, imported_state
from domain.refusal import refuse
from store import audit
from store.audit import Decision
from store.database import Database, Scope, Transaction
from store.legacy_source import LegacySource, Row
from store.tables import Table
from store.tables_conversation import SpaceRow
from store.tables_legacy import LegacyActionRow, LegacyAuditRow, LegacyImportRow, LegacySettingRow
from store.user_settings import import_choice

LEDGER = frozenset({"effects", "approvals", "rules", "audit", "legacy_actions", "legacy_audit", "legacy_settings"})
"""The tables that an import fills or that it would stand beside; all of them empty is what "an empty ledger" means."""
BATCH = 500

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """What the control plane holds: this scope's marker, whether its ledger is empty, how many other scopes exist."""

    marker: LegacyImportRow | None = None
    empty: bool = True
    other_scopes: int = 0


async def target_of(database: Database, scope: Scope) -> Target:
    """Look at a control plane of this or an older version; nothing is written."""
    async with database.read(scope) as tx:
        names = await _table_names(tx)
        return Target(
            marker=await _marker(tx) if LegacyImportRow.__tablename__ in names else None,
            empty=await _is_empty(tx, names),
            other_scopes=await _other_scopes(tx) if SpaceRow.__tablename__ in names else 0,
        )


async def import_ledger(tx: Transaction, source: LegacySource, source_path: str, principal: str) -> LegacyImportRow:
    """Copy the ledger and write its marker; the caller's transaction makes both true at once.

    Args:
        tx: A write transaction.
        source: The frozen copy.
        source_path: The real path of what was copied.
        principal: Who imports, for the audit chain.

    Raises:
        Refused: `maintenance_not_permitted` when the ledger of this scope is not empty, or has a marker already.
    """
    if await _marker(tx) is not None or not await _is_empty(tx, await _table_names(tx)):
        raise refuse(
            "maintenance_not_permitted",
            "This user space already has effects, decisions or an imported ledger. A legacy ledger is imported only "
            "into an empty one, and nothing is overwritten: restore the backup from before they were made.",
            reason="target_not_empty",
        )
    foreign = {row["action_id"] for row in source.rows("actions") if row["user_space"] != tx.scope.user_space}
    await _insert(tx, LegacySettingRow, map(_setting, _own(tx, source.rows("settings"))))
    await _take_choice(tx, source)
    await _insert(tx, LegacyActionRow, map(_action, _own(tx, source.rows("actions"))))
    await _insert(tx, LegacyAuditRow, (_entry(row) for row in source.rows("audit") if row["action_id"] not in foreign))
    await audit.record_all(tx, _decisions(tx, source, foreign, principal))
    marker = LegacyImportRow(
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        source_path=source_path,
        source_digest=source.digest,
        counts=dict(source.counts),
        principal=principal,
        imported_at=tx.now,
    )
    tx.session.add(marker)
    await tx.session.flush()
    return marker


async def _take_choice(tx: Transaction, source: LegacySource) -> None:
    """Make the ledger's choice about automatic review the person's own, unless there is one already (E8)."""
    for row in _own(tx, source.rows("settings")):
        if row["key"] == AUTO_REVIEW:
            await import_choice(tx, AUTO_REVIEW, chosen_review(str(row["value"])))


def _own(tx: Transaction, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of this user space: another one's never become readable here (I8)."""
    return (row for row in rows if row["user_space"] == tx.scope.user_space)


def _setting(row: Row) -> Values:
    return {"key": row["key"], "value": row["value"], "updated_at": row["updated_at"]}


def _action(row: Row) -> Values:
    kept = ("action_id", "kind", "digest", "version", "action_json", "outcome_json", "created_at", "decided_at")
    return {name: row[name] for name in kept} | {"state": _state(row).value, "source_state": row["state"]}


def _entry(row: Row) -> Values:
    kept = ("action_id", "event", "actor", "at", "detail_json")
    return {name: row[name] for name in kept} | {"sequence": row["seq"]}


def _state(row: Row) -> LegacyState:
    try:
        outcome = json.loads(str(row["outcome_json"]))
    except (ValueError, RecursionError):
        outcome = None
    return imported_state(LegacyState(str(row["state"])), outcome)


def _decisions(tx: Transaction, source: LegacySource, foreign: set[Any], principal: str) -> Iterator[Decision]:
    """The import as entries of this scope's audit chain: the import itself, the actions, what was recorded of them."""
    counts: Mapping[str, int] = source.counts
    yield Decision(f"{KIND_PREFIX}.import", source.digest, "imported", principal, details=counts)
    for row in _own(tx, source.rows("actions")):
        yield Decision(
            f"{KIND_PREFIX}.action", str(row["action_id"]), _state(row).value, KIND_PREFIX,
            action_digest=str(row["digest"]),
            details={"kind": row["kind"], "source_state": row["state"], "at": row["created_at"]},
        )  # fmt: skip
    for row in source.rows("audit"):
        if row["action_id"] not in foreign:
            yield Decision(
                f"{KIND_PREFIX}.audit", str(row["action_id"] or ""), str(row["event"]), str(row["actor"]),
                details={"at": row["at"]},
            )  # fmt: skip


async def _insert(tx: Transaction, table: type[Table], rows: Iterable[Values]) -> None:
    scope = {"user_space": tx.scope.user_space, "domain": tx.scope.domain}
    coming = iter(rows)
    while batch := [row | scope for row in islice(coming, BATCH)]:
        await tx.session.execute(insert(table), batch)


async def _marker(tx: Transaction) -> LegacyImportRow | None:
    return await tx.session.get(LegacyImportRow, (tx.scope.user_space, tx.scope.domain))


async def _is_empty(tx: Transaction, names: set[str]) -> bool:
    for name in sorted(LEDGER & names & set(Table.metadata.tables)):
        columns = Table.metadata.tables[name].columns
        own = (columns["user_space"] == tx.scope.user_space) & (columns["domain"] == tx.scope.domain)
        if await tx.session.scalar(select(literal(1)).where(own).limit(1)) is not None:
            return False
    return True


async def _other_scopes(tx: Transaction) -> int:
    own = (SpaceRow.user_space == tx.scope.user_space) & (SpaceRow.domain == tx.scope.domain)
    return int(await tx.session.scalar(select(func.count()).select_from(SpaceRow).where(~own)) or 0)


async def _table_names(tx: Transaction) -> set[str]:
    def read(connection: Connection) -> set[str]:
        return set(inspect(connection).get_table_names())

    return await (await tx.session.connection()).run_sync(read)
