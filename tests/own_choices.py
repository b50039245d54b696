"""A person's explicit settings, as tests need them."""

from store.database import Transaction
from store.tables_rules import UserSettingsRow


async def choose(tx: Transaction, **choices: object) -> None:
    """Store choices that the person has made before anything else happens in this space; made again, they stay."""
    if await tx.session.get(UserSettingsRow, (tx.scope.user_space, tx.scope.domain)) is not None:
        return
    tx.session.add(
        UserSettingsRow(
            user_space=tx.scope.user_space, domain=tx.scope.domain, revision=1, choices=choices, updated_at=tx.now
        )
    )
