"""The zone that the person lives in, as far as they have said it: that of their quiet hours (N2), else UTC."""

from domain.user_settings import in_force
from domain.wall_time import is_zone
from store.database import Transaction
from store.user_settings import choices


async def person_zone(tx: Transaction) -> str:
    """An IANA zone in which a time that the person names without one is meant (U9)."""
    named = str(in_force(await choices(tx))["quiet_hours"]["timezone"])
    return named if is_zone(named) else "UTC"
