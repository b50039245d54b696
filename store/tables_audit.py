"""The table of audit heads: where each scope's audit chain ends, so that rows cut off at its end are missed (A14)."""

from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class AuditHeadRow(Scoped, Table):
    """Sequence and hash of the newest row of a scope's chain, changed in the transaction that adds the row."""

    __tablename__ = "audit_heads"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int]
    hash: Mapped[str]
