"""The audit chain as the wire contract shows it (A14): newest first, by keyset; ids, digests and codes only (I9)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import or_, select

from domain.legacy_ledger import is_imported
from domain.refusal import refuse
from store.database import Transaction
from store.keyset import cursor_after, text_key
from store.tables_authority import AuditRow
from store.wire_time import wire_time

Json = dict[str, Any]
LONGEST_SEQUENCE = 18


async def audit_page(
    tx: Transaction, limit: int, cursor: str | None, *, since: datetime | None = None, kind: str | None = None
) -> Json:
    """A page of decisions, newest first.

    Args:
        tx: A reading transaction.
        limit: Rows of a page.
        cursor: Of the page before.
        since: Only decisions at or after this time.
        kind: Only decisions of this kind, or of the kinds below it: `effect` covers `effect.gate`.

    Raises:
        Refused: `invalid_params` for a cursor that is none of this list.
    """
    query = select(AuditRow).where(AuditRow.user_space == tx.scope.user_space, AuditRow.domain == tx.scope.domain)
    if since is not None:
        query = query.where(AuditRow.at >= since)
    if kind is not None:
        query = query.where(or_(AuditRow.kind == kind, AuditRow.kind.startswith(f"{kind}.", autoescape=True)))
    before = _sequence(text_key(cursor))
    if before is not None:
        query = query.where(AuditRow.sequence < before)
    rows = (await tx.session.scalars(query.order_by(AuditRow.sequence.desc()).limit(limit + 1))).all()
    return {"items": [_decision(row) for row in rows[:limit]], "next_cursor": _next(rows, limit)}


def _next(rows: Sequence[AuditRow], limit: int) -> str | None:
    return cursor_after(str(rows[limit - 1].sequence)) if len(rows) > limit else None


def _sequence(key: str | None) -> int | None:
    if key is None:
        return None
    if not key.isdigit() or len(key) > LONGEST_SEQUENCE:
        raise refuse("invalid_params", "cursor is not one of this list. Take next_cursor of the page before.")
    return int(key)


def _decision(row: AuditRow) -> Json:
    view: Json = {
        "sequence": row.sequence,
        "at": wire_time(row.at),
        "kind": row.kind,
        "subject_id": row.subject_id,
        "principal": row.principal,
        "verdict": row.verdict,
        "imported": is_imported(row.kind),
        "details": row.details,
    }
    optional = {"code": row.code, "action_digest": row.action_digest}
    return view | {key: value for key, value in optional.items() if value is not None}
