"""Checks a scope's whole audit chain and says its first broken place (A14, `steward audit verify`).

The chain is walked page by page, so its length costs time, not memory. The head record is read before and after the
rows: decisions that are recorded meanwhile are no finding.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import select

from store.audit import ChainWalk
from store.database import Transaction
from store.tables_audit import AuditHeadRow
from store.tables_authority import AuditRow

PAGE = 1000


class Break(StrEnum):
    """What is wrong at the first broken place."""

    CHANGED = "changed"
    MISSING = "missing"
    CUT_OFF = "cut_off"
    NOT_IN_HEAD = "not_in_head"


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What was found: `rows` that fit, from the first on, the hash of the last of them, and where it broke, if so."""

    rows: int
    hash: str
    broken_at: int | None = None
    problem: Break | None = None

    @property
    def holds(self) -> bool:
        """Whether the chain is whole."""
        return self.problem is None


async def check_chain(tx: Transaction) -> ChainCheck:
    """Walk the scope's chain from its first row to its head record."""
    walk = ChainWalk()
    before = await _head(tx)
    async for row in _rows(tx):
        if not walk.fits(row):
            missing = row.sequence > walk.sequence + 1
            return _broken(walk, Break.MISSING if missing else Break.CHANGED)
        if row.sequence == before.sequence and row.hash != before.hash:
            # Every row was replaced by a chain of its own, but not the record of where the true one ended.
            return ChainCheck(walk.sequence - 1, row.previous_hash, row.sequence, Break.CHANGED)
    if walk.sequence < before.sequence:
        return _broken(walk, Break.CUT_OFF)
    after = await _head(tx)
    if walk.sequence > after.sequence:
        return ChainCheck(walk.sequence, walk.hash, after.sequence + 1, Break.NOT_IN_HEAD)
    return ChainCheck(walk.sequence, walk.hash)


def _broken(walk: ChainWalk, problem: Break) -> ChainCheck:
    return ChainCheck(walk.sequence, walk.hash, walk.sequence + 1, problem)


@dataclass(frozen=True, slots=True)
class _Head:
    sequence: int = 0
    hash: str = ""


async def _head(tx: Transaction) -> _Head:
    query = select(AuditHeadRow.sequence, AuditHeadRow.hash).where(
        AuditHeadRow.user_space == tx.scope.user_space, AuditHeadRow.domain == tx.scope.domain
    )
    found = (await tx.session.execute(query)).first()
    return _Head() if found is None else _Head(found.sequence, found.hash)


async def _rows(tx: Transaction) -> AsyncIterator[AuditRow]:
    last: int | None = None
    while True:
        query = select(AuditRow).where(AuditRow.user_space == tx.scope.user_space, AuditRow.domain == tx.scope.domain)
        if last is not None:
            query = query.where(AuditRow.sequence > last)
        page = (await tx.session.scalars(query.order_by(AuditRow.sequence).limit(PAGE))).all()
        for row in page:
            yield row
        if len(page) < PAGE:
            return
        last = page[-1].sequence
        tx.session.expunge_all()
