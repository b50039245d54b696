"""Bodyless notices for clients (H13): written with the change, read by the host, forgotten after a while."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlalchemy import delete, func, select

from store.database import Transaction
from store.tables_host import ChangeRow

KEPT_FOR = timedelta(minutes=10)


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


async def since(tx: Transaction, revision: int, limit: int = 500) -> Sequence[ChangeRow]:
    """Notices after `revision`, oldest first."""
    query = (
        select(ChangeRow)
        .where(
            ChangeRow.revision > revision,
            ChangeRow.user_space == tx.scope.user_space,
            ChangeRow.domain == tx.scope.domain,
        )
        .order_by(ChangeRow.revision)
        .limit(limit)
    )
    return (await tx.session.scalars(query)).all()


async def newest(tx: Transaction) -> int:
    """The newest revision, 0 when there is none."""
    return await tx.session.scalar(select(func.max(ChangeRow.revision))) or 0


async def prune(tx: Transaction) -> None:
    """Forget old notices: clients that were away re-read anyway."""
    await tx.session.execute(delete(ChangeRow).where(ChangeRow.created_at < tx.now - KEPT_FOR))
