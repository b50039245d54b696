"""What one check of `steward doctor` found (O5)."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: its state, what was seen, and how to mend it where that is needed."""

    check: str
    state: State
    found: str
    mend: str | None = None
