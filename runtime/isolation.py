"""Whether this host may claim isolation from other processes, decided before anything is written (H2, H3).

The claim needs a verifier that the embedding code trusts; a folder, a setting or a caller's word proves nothing.
"""

from typing import Protocol

from domain.refusal import refuse
from runtime.settings import Settings


class UserHostIsolationVerifier(Protocol):
    """Trusted code that can tell whether this process is isolated for one user space and product domain (H23)."""

    def verify(self, user_space: str, product_domain: str) -> bool:
        """Return True only when the isolation has been established; an exception counts as no."""


def check_isolation(settings: Settings, verifier: UserHostIsolationVerifier | None = None) -> dict[str, str]:
    """Return what `initialize` says about isolation, or refuse to start.

    Raises:
        Refused: `user_host_isolation_required`, when verified isolation is asked for and not shown (H3).
    """
    if settings.isolation_mode == "logical_memory":
        return {"memory": "logical", "host": "unverified"}
    if verifier is None:
        raise refuse(
            "user_host_isolation_required",
            "STEWARD_ISOLATION_MODE=verified_host needs an isolation verifier given in code; "
            "use logical_memory where there is none.",
        )
    try:
        verified = verifier.verify(settings.user_space, settings.product_domain) is True
    except Exception:
        verified = False
    if not verified:
        raise refuse("user_host_isolation_required", "The isolation of this host could not be verified.")
    return {"memory": "logical", "host": "verified"}
