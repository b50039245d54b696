"""Who calls: the person behind a credential, and whether the connection is local."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a credential (H19, H20); `local` is a property of the connection, not of the person (P14)."""

    kind: Literal["owner", "device"]
    id: str
    local: bool
