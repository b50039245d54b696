"""The person's settings as they bear on one agent's news at one moment (N2)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from domain.attention import Policy
from domain.quiet_hours import quiet_until


def policy_of(settings: Mapping[str, Any], agent_id: str, now: datetime, *, agent_enabled: bool) -> Policy:
    """What the person wants now.

    Args:
        settings: All settings in force (`domain.user_settings.in_force`); their zone was checked when it was chosen.
        agent_id: Whose news it is; an agent without a choice of its own follows the space's.
        now: An aware instant.
        agent_enabled: Whether the agent is one that works (N12).
    """
    notifications, quiet = settings["notifications"], settings["quiet_hours"]
    until = quiet_until(quiet["timezone"], quiet["start"], quiet["end"], now) if quiet["enabled"] else None
    wanted = notifications["enabled"] and notifications["agents"].get(agent_id, True)
    return Policy(agent_enabled, bool(wanted), until, int(settings["aggregation_s"]))
