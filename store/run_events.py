"""Public events of runs (P10, T17): display-safe by a whitelist of keys with scalar values."""

from collections.abc import Mapping
from typing import cast

from sqlalchemy import Table, bindparam, func, insert, select

from store.database import Transaction
from store.tables_work import RunEventRow

SAFE_KEYS = frozenset(
    {
        "step",
        "calls",
        "input_tokens",
        "output_tokens",
        "code",
        "effect_id",
        "requirement_version",
        "attempt",
        "artifacts",
    }
)
LABEL_CHARACTERS = 120

_TABLE = cast(Table, RunEventRow.__table__)
_NEXT = select(func.coalesce(func.max(_TABLE.c.sequence), 0) + 1).where(_TABLE.c.run_id == bindparam("of_run"))
_INSERT = insert(_TABLE).values(
    run_id=bindparam("of_run"), sequence=_NEXT.scalar_subquery(), category=bindparam("category"),
    name=bindparam("name"), label=bindparam("label"), status=bindparam("status"),
    duration_ms=bindparam("duration_ms"), details=bindparam("details"), at=bindparam("at"),
)  # fmt: skip


async def record(
    tx: Transaction,
    run_id: str,
    category: str,
    name: str,
    label: str,
    status: str,
    *,
    duration_ms: float | None = None,
    details: Mapping[str, str | int | float | None] | None = None,
) -> None:
    """Append an event with the run's next sequence; keys outside the whitelist are left out."""
    await tx.session.execute(
        _INSERT,
        {
            "of_run": run_id,
            "category": category,
            "name": name[:64],
            "label": label[:LABEL_CHARACTERS],
            "status": status,
            "duration_ms": None if duration_ms is None else round(duration_ms, 1),
            "details": {key: value for key, value in (details or {}).items() if key in SAFE_KEYS},
            "at": tx.now,
        },
    )
