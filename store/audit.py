"""The audit chain (A14): every decision is a row whose hash covers the row before it.

Each scope has a head record that says where its chain ends. It changes with every row, in the same transaction, so
that rows cut off at the end are missed as surely as one taken out of the middle.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import select

from store.database import Transaction
from store.tables_audit import AuditHeadRow
from store.tables_authority import AuditRow

FIRST = "0" * 64
BATCH = 500


@dataclass(frozen=True, slots=True)
class Decision:
    """What is recorded: who, about what, which digest, the verdict and its code. No contents (I9)."""

    kind: str
    subject_id: str
    verdict: str
    principal: str
    code: str | None = None
    action_digest: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


async def record(
    tx: Transaction,
    kind: str,
    subject_id: str,
    verdict: str,
    *,
    principal: str,
    code: str | None = None,
    action_digest: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Append one decision."""
    decision = Decision(kind, subject_id, verdict, principal, code, action_digest, details or {})
    await record_all(tx, [decision])


async def record_all(tx: Transaction, decisions: Iterable[Decision]) -> None:
    """Append decisions in their order; they may be many."""
    head = await _head(tx)
    coming = iter(decisions)
    while rows := [_next_row(tx, head, decision) for decision in islice(coming, BATCH)]:
        tx.session.add_all(rows)
        await tx.session.flush()
        for row in rows:
            # A session that kept a hundred thousand of them would be searched at every flush.
            tx.session.expunge(row)


def _next_row(tx: Transaction, head: AuditHeadRow, decision: Decision) -> AuditRow:
    """The row behind the head, which moves to it."""
    row = AuditRow(
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        sequence=head.sequence + 1,
        at=tx.now,
        kind=decision.kind,
        subject_id=decision.subject_id,
        principal=decision.principal,
        verdict=decision.verdict,
        code=decision.code,
        action_digest=decision.action_digest,
        details=dict(decision.details),
        previous_hash=head.hash,
        hash="",
    )
    row.hash = chain_hash(row)
    head.sequence, head.hash = row.sequence, row.hash
    return row


async def _head(tx: Transaction) -> AuditHeadRow:
    """Where the chain goes on: at its head record, or behind rows that a process of an older version added.

    Never before the head record: after rows were cut off, the next one leaves the gap that they made.
    """
    scope = (tx.scope.user_space, tx.scope.domain)
    head = await tx.session.get(AuditHeadRow, scope)
    if head is None:
        head = AuditHeadRow(user_space=tx.scope.user_space, domain=tx.scope.domain, sequence=0, hash=FIRST)
        tx.session.add(head)
    newest = (
        await tx.session.execute(
            select(AuditRow.sequence, AuditRow.hash)
            .where(AuditRow.user_space == tx.scope.user_space, AuditRow.domain == tx.scope.domain)
            .order_by(AuditRow.sequence.desc())
            .limit(1)
        )
    ).first()
    if newest is not None and newest.sequence > head.sequence:
        head.sequence, head.hash = newest.sequence, newest.hash
    return head


def chain_hash(row: AuditRow) -> str:
    """SHA-256 over the row's content and the hash before it."""
    content = [
        row.previous_hash, row.user_space, row.domain, row.sequence, row.at.isoformat(), row.kind, row.subject_id,
        row.principal, row.verdict, row.code, row.action_digest, row.details,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class ChainWalk:
    """Follows a chain row by row from its first; `sequence` and `hash` are those of the last row that fitted."""

    def __init__(self) -> None:
        self.sequence = 0
        self.hash = FIRST

    def fits(self, row: AuditRow) -> bool:
        """Whether this is the unchanged next row; the walk goes on behind it if so."""
        if row.sequence != self.sequence + 1 or row.previous_hash != self.hash or row.hash != chain_hash(row):
            return False
        self.sequence, self.hash = row.sequence, row.hash
        return True


def broken_at(rows: Sequence[AuditRow]) -> int | None:
    """The sequence of the first row that does not fit the chain, or None when all of `rows` do (A14)."""
    walk = ChainWalk()
    return next((row.sequence for row in rows if not walk.fits(row)), None)
