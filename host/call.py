"""One call of a method, and the foreground permission it runs under (H11, H14).

The permission is a flag with one point of no return: a cancel or the end of the connection takes it away until the
call is sealed, immediately before its commit; from then on nothing is undone.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from domain.refusal import accepted, refuse
from domain.request import check_request_id
from host.principal import Principal
from host.rpc.params import UserInput

P = TypeVar("P", bound=BaseModel)


class Revoked(Exception):
    """The call lost its permission before it was accepted; everything it did is rolled back."""


class ForegroundPermission:
    """What a connection lends to one of its calls while that is being admitted (H14)."""

    def __init__(self) -> None:
        self._revoked = False
        self._sealed = False

    def revoke(self) -> bool:
        """Take the permission away; False when the call was accepted already (H11)."""
        if not self._sealed:
            self._revoked = True
        return self._revoked

    def check(self) -> None:
        """Raise `Revoked` when the permission is gone."""
        if self._revoked:
            raise Revoked

    def seal(self) -> None:
        """The point of no return: raise `Revoked`, or be accepted for good."""
        self.check()
        self._sealed = True


@dataclass(frozen=True, slots=True)
class Call(Generic[P]):
    """What a method is called with: validated parameters and the envelope around them."""

    principal: Principal
    params: P
    permission: ForegroundPermission
    request_id: str | None = None
    user_input: UserInput | None = None

    @property
    def write_id(self) -> str:
        """The request id of a write.

        Raises:
            Refused: `invalid_params` when it is missing or breaks the grammar.
        """
        if self.request_id is None:
            raise refuse("invalid_params", "This method needs a request_id beside its params.", field="request_id")
        return accepted(check_request_id(self.request_id))

    @property
    def said(self) -> UserInput:
        """What the person said with this call.

        Raises:
            Refused: `invalid_params` when the envelope has none.
        """
        if self.user_input is None:
            raise refuse("invalid_params", "This method needs user_input beside its params.", field="user_input")
        return self.user_input
