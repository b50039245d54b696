"""The contract `execution.authorization@1` (A2): what a provider of unattended authorization is asked, and its answers.

Every answer is `Allow`, `Deny` or `Uncertain`, and only the first is a yes. A provider's exception or silence is turned
into `Uncertain` by whoever asks (A6).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from domain.grant import Execution
from domain.grant_bounds import Owner

CONTRACT = "execution.authorization@1"
OIDC = "oidc"
"""The name of the provider that asks an issuer (A8)."""
ANSWER_TIMEOUT_S = 3.0
"""How long a provider may take for one answer, in seconds (A6)."""
UNCERTAIN = "authorization_uncertain"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Allow(Generic[T]):
    """A yes, with what was asked for."""

    value: T


@dataclass(frozen=True, slots=True)
class Deny:
    """A no: `code` is one of the wire contract's `authorization_` codes."""

    code: str


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Neither: the caller refuses (A2)."""

    code: str = UNCERTAIN


@dataclass(frozen=True, slots=True)
class Admission:
    """What the owner admits; the bounds themselves are the host's and stay there.

    Attributes:
        owner: issuer, tenant and subject, which are fixed by it (A8).
        expires_at: until when the grant shall last.
        local: whether it came through the trusted local entry (A7).
    """

    owner: Owner
    expires_at: datetime
    local: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A grant as its provider knows it.

    Attributes:
        grant_ref: the grant's id, which is all that a task holds.
        account: the provider's own account, None for one without accounts.
        owner: who granted, as fixed at the admission.
    """

    grant_ref: str
    account: str | None
    owner: Owner


@dataclass(frozen=True, slots=True)
class Issued:
    """An issued grant: for how long, and on which of the provider's accounts it rests."""

    account: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Lease:
    """A grant narrowed to the one effect with this digest."""

    grant_ref: str
    action_digest: str


@dataclass(frozen=True, slots=True)
class Description:
    """What the owner is shown of a grant's standing with its provider; `expires_at` is None where that is unknown."""

    owner: Owner
    expires_at: datetime | None


class AuthorizationProvider(Protocol):
    """A provider outside the database.

    The native one decides in the gate's own transaction, so its operations are functions of a transaction; they are
    listed under the same names in `runtime.authorization`.
    """

    @property
    def name(self) -> str:
        """The name by which the configuration selects it."""

    @property
    def local_only(self) -> bool:
        """Whether nothing of an execution (paths, commands, permissions) leaves this machine.

        Without that it is not asked about files and permissions, which means that it is not asked at all.
        """

    async def issue(self, admission: Admission) -> "Allow[Issued] | Deny | Uncertain":
        """Say whether a grant of this owner may be issued now."""

    async def acquire(self, ref: Reference, execution: Execution) -> "Allow[Lease] | Deny | Uncertain":
        """Say whether the grant still holds for this effect, right before it (A4)."""

    async def release(self, lease: Lease, outcome: str) -> "Allow[None] | Deny | Uncertain":
        """Take note of what became of the effect."""

    async def revoke(self, ref: Reference, reason: str | None) -> "Allow[None] | Deny | Uncertain":
        """Take note that the owner has revoked the grant; the host refuses it from then on in any case."""

    async def describe(self, ref: Reference) -> "Allow[Description] | Deny | Uncertain":
        """Say how the grant stands with the provider, for the owner's view."""
