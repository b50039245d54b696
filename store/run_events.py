"""Public events of runs (P10, T17): display-safe by a whitelist of keys with scalar values."""

from collections.abc import Mapping

from sqlalchemy import func, select

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
    newest = await tx.session.scalar(select(func.max(RunEventRow.sequence)).where(RunEventRow.run_id == run_id))
    tx.session.add(
        RunEventRow(
            run_id=run_id,
            sequence=(newest or 0) + 1,
            category=category,
            name=name[:64],
            label=label[:LABEL_CHARACTERS],
            status=status,
            duration_ms=None if duration_ms is None else round(duration_ms, 1),
            details={key: value for key, value in (details or {}).items() if key in SAFE_KEYS},
            at=tx.now,
        )
    )
    await tx.session.flush()
