"""Bodyless notices for clients (H13): written with the change, read by the host, forgotten after a while."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, delete, func, select

from store.database import Transaction
from store.tables_host import ChangeRow

KEPT_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Change:
    """A notice as it is told."""

    revision: int
    topic: str
    body: dict[str, Any]


_ROWS = ChangeRow.__table__
# Built once: every commit of anybody is followed by this question.
_SINCE = (
    select(_ROWS.c.revision, _ROWS.c.topic, _ROWS.c.body)
    .where(
        _ROWS.c.revision > bindparam("after"),
        _ROWS.c.user_space == bindparam("user_space"),
        _ROWS.c.domain == bindparam("domain"),
    )
    .order_by(_ROWS.c.revision)
    .limit(bindparam("most"))
)


def notify(tx: Transaction, topic: str, **body: str | int | Mapping[str, str | int] | None) -> None:
    """Write a notice: a topic of api.md with ids, states and sequences, never text."""
    tx.session.add(
        ChangeRow(
            user_space=tx.scope.user_space,
            domain=tx.scope.domain,
            topic=topic,
            body={key: value for key, value in body.items() if value is not None},
            created_at=tx.now,
        )
    )


async def since(tx: Transaction, revision: int, limit: int = 500) -> Sequence[Change]:
    """Notices after `revision`, oldest first."""
    asked = {"after": revision, "user_space": tx.scope.user_space, "domain": tx.scope.domain, "most": limit}
    return [Change(*row) for row in (await tx.session.execute(_SINCE, asked)).all()]


async def newest(tx: Transaction) -> int:
    """The newest revision, 0 when there is none."""
    return await tx.session.scalar(select(func.max(ChangeRow.revision))) or 0


async def prune(tx: Transaction) -> None:
    """Forget old notices: clients that were away re-read anyway."""
    await tx.session.execute(delete(ChangeRow).where(ChangeRow.created_at < tx.now - KEPT_FOR))
