"""Which mode the work has that a run hands to somebody else (E3, A3, A15): every pair, written down once more."""

import pytest

from domain.refusal import Refusal
from domain.tool_policy import mode_handed_on

REFUSED = "refused"
# By the run's own mode: what comes of no wish, and of each mode that is wished for.
TABLE: dict[str, dict[str | None, str | None]] = {
    "read_only": {None: "read_only", "read_only": "read_only", "standard": REFUSED, "unconfined": REFUSED},
    "standard": {None: None, "read_only": "read_only", "standard": "standard", "unconfined": REFUSED},
    "unconfined": {
        None: "unconfined", "read_only": "read_only", "standard": "standard", "unconfined": "unconfined",
    },
    "a mode nobody knows": {
        None: "a mode nobody knows", "read_only": REFUSED, "standard": REFUSED, "unconfined": REFUSED,
    },
}  # fmt: skip


@pytest.mark.parametrize("own", TABLE)
@pytest.mark.parametrize("wanted", [None, "read_only", "standard", "unconfined"])
def test_no_mode_becomes_wider_by_being_handed_on(wanted: str | None, own: str) -> None:
    """E3, A3: never wider than the run's own; the refusal names both modes."""
    answer = mode_handed_on(wanted, own)
    if TABLE[own][wanted] != REFUSED:
        assert answer == TABLE[own][wanted]
        return
    words = f"This work is done in the mode {own}, and cannot have more done in the mode {wanted}."
    assert answer == Refusal("policy_denied", words)


def test_a_mode_that_does_not_exist_is_left_to_whoever_checks_modes() -> None:
    """api.md: `invalid_params` is said there, not `policy_denied` here."""
    assert mode_handed_on("root", "standard") == "root"
