"""What legacy rows become, and who may bring them over (E19, H22)."""

from dataclasses import replace
from typing import Any

import pytest

from domain.legacy_ledger import LegacyState, chosen_review, imported_state, is_imported
from domain.legacy_policy import MaintenanceFacts, may_maintain

S = LegacyState
PERMITTED = MaintenanceFacts(
    provider_selected=True, folder_is_owned=True, credential_is_owned=True, store_is_own_file=True, other_scopes=0
)


@pytest.mark.parametrize(
    ("state", "outcome", "kept"),
    [
        (S.CLAIMED, None, S.UNKNOWN),
        (S.CLAIMED, {}, S.UNKNOWN),
        (S.CLAIMED, {"ok": "yes"}, S.UNKNOWN),
        (S.CLAIMED, {"ok": 1}, S.UNKNOWN),
        (S.CLAIMED, [True], S.UNKNOWN),
        (S.CLAIMED, {"ok": True}, S.SUCCEEDED),
        (S.CLAIMED, {"ok": False}, S.FAILED),
        (S.PENDING, None, S.EXPIRED),
        (S.PENDING, {"ok": True}, S.EXPIRED),
        *((state, {"ok": False}, state) for state in S if state not in (S.CLAIMED, S.PENDING)),
    ],
)
def test_what_an_action_becomes(state: LegacyState, outcome: Any, kept: LegacyState) -> None:
    """E19: claimed without an outcome is unknown, pending is expired, all else stays as it is."""
    assert imported_state(state, outcome) is kept


def test_nothing_that_is_kept_waits_for_anybody() -> None:
    """E19, I4: no imported action could still be decided or dispatched."""
    outcomes = (None, {"ok": True}, {"ok": False})
    kept = {imported_state(state, outcome) for state in S for outcome in outcomes}
    assert not kept & {S.PENDING, S.CLAIMED}


@pytest.mark.parametrize(("value", "chosen"), [("on", True), (" TRUE ", True), ("1", True), ("off", False), ("", False),
                                               ("perhaps", False), ("false", False)])  # fmt: skip
def test_only_a_clear_yes_is_one(value: str, chosen: bool) -> None:
    """E19, E8: an import never lets a model decide where the person had not said so."""
    assert chosen_review(value) is chosen


def test_imported_kinds() -> None:
    """A14: what came from a ledger is told from what was decided here."""
    assert is_imported("legacy.action")
    assert is_imported("legacy")
    assert not is_imported("legacyx.action")
    assert not is_imported("effect.gate")


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        ({"provider_selected": False}, "service_not_available", "provider_missing"),
        ({"folder_is_owned": False}, "maintenance_not_permitted", "not_the_local_owner"),
        ({"credential_is_owned": False}, "maintenance_not_permitted", "not_the_local_owner"),
        ({"store_is_own_file": False}, "maintenance_not_permitted", "store_is_shared"),
        ({"other_scopes": 1}, "maintenance_not_permitted", "store_is_shared"),
    ],
)
def test_one_missing_proof_is_a_no(change: dict[str, Any], code: str, reason: str) -> None:
    """E19, H22: each of them is needed."""
    assert may_maintain(PERMITTED) is None
    refusal = may_maintain(replace(PERMITTED, **change))
    assert refusal is not None
    assert (refusal.code, refusal.details["reason"]) == (code, reason)
