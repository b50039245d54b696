"""Leases (A2): a grant narrowed to one effect, taken in the claim's transaction, released with its outcome."""

from sqlalchemy import select

from store.database import Transaction
from store.tables_authority import EffectRow
from store.tables_grants import LeaseRow


def acquire(tx: Transaction, effect: EffectRow, claim_id: str, grant_id: str | None) -> None:
    """Take the lease under which the effect is about to happen; a reply's own admission has no grant (A13)."""
    tx.session.add(
        LeaseRow(
            lease_id=tx.new_id("lease"),
            effect_id=effect.effect_id,
            claim_id=claim_id,
            grant_id=grant_id,
            action_digest=effect.action_digest,
            acquired_at=tx.now,
        )
    )


async def release(tx: Transaction, effect: EffectRow, outcome: str) -> None:
    """Give back the effect's lease with what became of it; without an open one nothing happens."""
    query = select(LeaseRow).where(LeaseRow.effect_id == effect.effect_id, LeaseRow.released_at.is_(None))
    for lease in await tx.session.scalars(query):
        lease.released_at, lease.outcome = tx.now, outcome
    await tx.session.flush()
