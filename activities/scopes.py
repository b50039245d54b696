"""The scope of a reference that came over the wire."""

from typing import Protocol

from store.database import Scope


class ScopedReference(Protocol):
    """Anything on the wire that names its user space and domain."""

    @property
    def user_space(self) -> str:
        """The user space."""

    @property
    def domain(self) -> str:
        """The product domain."""


def scope_of(reference: ScopedReference) -> Scope:
    """The scope that every row of the reference is limited to (P1)."""
    return Scope(reference.user_space, reference.domain)
