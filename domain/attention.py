"""When the person is told that an agent has news (N): admission to a group, and what becomes of it at its deadline.

Pure: the moment, the policy and the counts come in. The hard thing is time: a window is fixed by its first event and
never extended (N3), quiet hours hold what would be due in them (N8), and both are judged anew whenever something is
about to be said (N2, N4), because between the event and the word the person may have switched it off or seen it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

OPEN_GROUPS: Final = 128
"""Aggregated groups that may be open on one host (N6)."""
SEEN_GRACE: Final = timedelta(seconds=2)
"""A page that shows the message in a focused window says so within this; until then no other channel is used (N2)."""

AGENT_DISABLED: Final = "agent_disabled"
NOTIFICATIONS_OFF: Final = "notifications_off"
SEEN: Final = "seen"
UNAGGREGATED: Final = "unaggregated"
"""Recorded with a group that the bound of N6 kept from being aggregated."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the person wants at one moment (N2).

    `agent_enabled`: the agent is one that works; a disabled or deleted one has no say (N12). `wanted`: notifications
    are on, for the space and for this agent. `quiet_until`: when the present quiet hours end, None outside of them.
    `window_s`: seconds of aggregation, 0 for none (N3).
    """

    agent_enabled: bool
    wanted: bool
    quiet_until: datetime | None
    window_s: int

    @property
    def forbids(self) -> str | None:
        """Why nothing is said at all, None when it may be, now or after the quiet hours."""
        if not self.agent_enabled:
            return AGENT_DISABLED
        return None if self.wanted else NOTIFICATIONS_OFF


@dataclass(frozen=True, slots=True)
class Group:
    """An open group: its first event's time, its deadline, and whether quiet hours hold it."""

    first_at: datetime
    deadline: datetime
    aggregated: bool
    held: bool


@dataclass(frozen=True, slots=True)
class Ignore:
    """The event makes no notification; `reason` says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Join:
    """The event joins the agent's open group; the deadline stays (N3)."""


@dataclass(frozen=True, slots=True)
class Open:
    """The event opens a group with this deadline; one that has come already is announced at once.

    `beyond_bound`: it is not aggregated only because too many groups are open (N6).
    """

    deadline: datetime
    aggregated: bool
    held: bool
    beyond_bound: bool = False


@dataclass(frozen=True, slots=True)
class Announce:
    """The group is announced now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The group waits; `held` by quiet hours, else for its own window."""

    until: datetime
    held: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """The whole group is dropped, with the reason that is recorded (N4)."""

    reason: str


def admit(policy: Policy, open_group: Group | None, open_groups: int, now: datetime) -> Ignore | Join | Open:
    """What becomes of an event in the transaction of its fact.

    Args:
        policy: Of the event's agent, now.
        open_group: The agent's open group, if there is one.
        open_groups: How many aggregated groups are open on this host, of all agents.
        now: The moment of the fact.

    Returns:
        `Join` the agent's open group, whatever its window was made of (N5). A window of 0 concerns new events (N5): it
        passes a window that is still open, but not quiet hours, in which one group holds everything (N8).
    """
    if policy.forbids is not None:
        return Ignore(policy.forbids)
    at_once = policy.window_s == 0 and policy.quiet_until is None
    if open_group is not None and not (at_once and not open_group.held):
        return Join()
    if at_once:
        return Open(now, aggregated=False, held=False)
    aggregated = policy.window_s > 0 and open_groups < OPEN_GROUPS
    window_end = now + timedelta(seconds=policy.window_s) if aggregated else now
    beyond = policy.window_s > 0 and not aggregated
    quiet_until = policy.quiet_until
    if quiet_until is not None and quiet_until > window_end:
        return Open(quiet_until, aggregated=aggregated, held=True, beyond_bound=beyond)
    return Open(window_end, aggregated=aggregated, held=False, beyond_bound=beyond)


def is_running(group: Group, now: datetime) -> bool:
    """Whether a group's own window still runs: then it waits, whatever the policy and its place have become (N3)."""
    return not group.held and now < group.deadline


def at_deadline(policy: Policy, group: Group, gone: str | None, *, seen: bool, now: datetime) -> Announce | Wait | Drop:
    """What becomes of an open group when somebody looks: at its deadline, or earlier because settings changed.

    Args:
        policy: Of the group's agent, now (N2, N4, N12).
        group: As it is stored.
        gone: Why its newest locator does not resolve, None when it does (N4).
        seen: Whether the person has seen what the newest locator names (N2).
        now: The moment of the look.
    """
    if is_running(group, now):
        return Wait(group.deadline, held=False)
    refused = may_say(policy, gone, seen=seen)
    if refused is not None:
        return Drop(refused)
    if policy.quiet_until is not None:
        return Wait(max(policy.quiet_until, _window_end(policy, group, now)), held=True)
    window_end = _window_end(policy, group, now)
    if now < window_end:
        return Wait(window_end, held=False)
    return Announce()


def _window_end(policy: Policy, group: Group, now: datetime) -> datetime:
    """What is left of the window of a group that quiet hours held; they may have been switched off within it (N3)."""
    if not group.held or not group.aggregated:
        return now
    return max(now, min(group.deadline, group.first_at + timedelta(seconds=policy.window_s)))


def may_say(policy: Policy, gone: str | None, *, seen: bool) -> str | None:
    """Why a group may not be announced any more, None when it may; quiet hours only put it off (N4, N12).

    Asked again before every attempt of every channel.
    """
    if policy.forbids is not None:
        return policy.forbids
    return gone or (SEEN if seen else None)


def first_attempt(newest_at: datetime, now: datetime) -> datetime:
    """When channels outside of the page may first be used for a group that is announced now (N2)."""
    return max(now, newest_at + SEEN_GRACE)
