"""Bounds of unattended authority (A1, A3): what a grant covers, and how it is narrowed and never widened.

The hard thing is paths: a prefix counts by segment, so that `/files/notes` covers `/files/notes/a` and never
`/files/notes-old`.
"""

from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from domain.refusal import Refusal

PERMISSIONS = ("read_only", "standard", "unconfined")
"""Permission modes from the narrowest to the widest: a ceiling admits those up to itself."""
DEFAULT_LIFETIME_S = 24 * 3600
LONGEST_LIFETIME_S = 30 * 24 * 3600


class GrantState(StrEnum):
    """States of a grant (api.md); `unbound` is one for a proposal that no task has named yet (A15)."""

    UNBOUND = "unbound"
    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Resource(BaseModel):
    """Something an effect acts on (A3): an absolute normalised path, a resolved command, an account or an MCP tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["path", "command", "account", "mcp_tool"]
    value: str = Field(min_length=1)

    def covers(self, other: "Resource") -> bool:
        """Whether everything that `other` names is within this one."""
        if self.kind != other.kind:
            return False
        if self.kind != "path":
            return self.value == other.value
        inner, outer = PurePosixPath(other.value), PurePosixPath(self.value)
        plain = inner.is_absolute() and outer.is_absolute() and ".." not in (*inner.parts, *outer.parts)
        return plain and inner.is_relative_to(outer)


class Bounds(BaseModel):
    """What a grant allows (A1), holder aside.

    Attributes:
        actions: names of actions, as `file.create`; nothing but what is listed.
        resources: each resource of an effect must be within one of these.
        models: the models under which the work may run; engines likewise.
        permission_ceiling: the widest permission mode.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    tenant: str
    subject: str
    user_space: str
    domain: str
    agent_id: str
    actions: frozenset[str]
    resources: frozenset[Resource]
    models: frozenset[str]
    engines: frozenset[str]
    permission_ceiling: str
    issued_at: datetime
    expires_at: datetime

    def fields(self) -> dict[str, JsonValue]:
        """The bounds as JSON with sorted lists, for storage and for the owner's view."""
        fields = self.model_dump(mode="json")
        for key in ("actions", "models", "engines"):
            fields[key] = sorted(fields[key])
        fields["resources"] = sorted(fields["resources"], key=lambda one: (one["kind"], one["value"]))
        return fields


class Execution(BaseModel):
    """One effect as authority is asked for it (A2): what would be done, to what, by whom, with which model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_space: str
    domain: str
    agent_id: str
    action: str
    resources: frozenset[Resource]
    model: str
    engine: str
    permission_mode: str
    action_digest: str
    request_id: str
    session_id: str


def grant_state(*, bound: bool, revoked_at: datetime | None, expires_at: datetime, now: datetime) -> GrantState:
    """The state that a grant is in at `now`, whatever a timer has or has not done (A12)."""
    if revoked_at is not None:
        return GrantState.REVOKED
    if now >= expires_at:
        return GrantState.EXPIRED
    return GrantState.ACTIVE if bound else GrantState.UNBOUND


def narrow(bounds: Bounds, other: Bounds) -> Bounds | Refusal:
    """What both allow (A3): an intersection in every field; the expiry is the earlier one.

    Returns:
        The intersection, or `authorization_bounds_exceeded` where they are about different persons, spaces or agents.
    """
    who = ("issuer", "tenant", "subject", "user_space", "domain", "agent_id")
    if any(getattr(bounds, field) != getattr(other, field) for field in who):
        return _exceeded("They are not about the same person, user space and agent.")
    return Bounds(
        **{field: getattr(bounds, field) for field in who},
        actions=bounds.actions & other.actions,
        resources=_common(bounds.resources, other.resources),
        models=bounds.models & other.models,
        engines=bounds.engines & other.engines,
        permission_ceiling=min(bounds.permission_ceiling, other.permission_ceiling, key=_width),
        issued_at=max(bounds.issued_at, other.issued_at),
        expires_at=min(bounds.expires_at, other.expires_at),
    )


def covers(bounds: Bounds, execution: Execution, now: datetime) -> Refusal | None:
    """Whether a grant with these bounds allows an effect now; None is a yes (A2, A4).

    Returns:
        `authorization_expired` or `authorization_bounds_exceeded` for a no.
    """
    if now >= bounds.expires_at:
        return Refusal("authorization_expired", "The grant has expired. A new one is needed.")
    where = (bounds.user_space, bounds.domain, bounds.agent_id)
    if where != (execution.user_space, execution.domain, execution.agent_id):
        return _exceeded("The grant is for another agent or user space.")
    if execution.action not in bounds.actions:
        return _exceeded("The grant does not allow this kind of action.")
    if not execution.resources or not all(_within(bounds.resources, one) for one in execution.resources):
        return _exceeded("The grant does not cover what this would act on.")
    if execution.model not in bounds.models or execution.engine not in bounds.engines:
        return _exceeded("The grant is for another model or engine.")
    if not 0 <= _width(execution.permission_mode) <= _width(bounds.permission_ceiling):
        return _exceeded("The grant does not reach to this permission mode.")
    return None


def lifetime(seconds: int | None) -> int | Refusal:
    """The lifetime of a grant in seconds (A7): 24 hours unless named, at most 30 days, at least one minute."""
    chosen = DEFAULT_LIFETIME_S if seconds is None else seconds
    if 60 <= chosen <= LONGEST_LIFETIME_S:
        return chosen
    message = f"A grant lasts between 60 and {LONGEST_LIFETIME_S} seconds (30 days), not {chosen}."
    return Refusal("invalid_params", message, {"limit": LONGEST_LIFETIME_S, "value": chosen})


def _within(resources: frozenset[Resource], wanted: Resource) -> bool:
    return any(resource.covers(wanted) for resource in resources)


def _common(ones: frozenset[Resource], others: frozenset[Resource]) -> frozenset[Resource]:
    narrowed = [one for one in ones if _within(others, one)]
    return frozenset(narrowed + [other for other in others if _within(ones, other)])


def _width(mode: str) -> int:
    # An unknown mode has no place: as a ceiling it admits nothing, narrowed as well; as a wish it is never covered.
    return PERMISSIONS.index(mode) if mode in PERMISSIONS else -1


def _exceeded(message: str) -> Refusal:
    return Refusal("authorization_bounds_exceeded", message)
