"""`steward doctor` names what is stuck and since when (O5, T10, S9)."""

from typing import Any

import pytest

from host.cli.checks_store import SILENT_AFTER_S, without_progress
from store.figures import Figures

CALM: dict[str, Any] = {"tasks": {}, "turns": {}, "deliveries": {}, "effects": {}, "delivery_lag_s": 0.0}


@pytest.mark.parametrize(
    ("figure", "subject"),
    [("oldest_idle_task_s", "tasks"), ("oldest_stop_s", "stops"), ("oldest_submitted_s", "deliveries")],
)
def test_what_is_silent_for_too_long_is_named(figure: str, subject: str) -> None:
    """O5: the age is told, and what to do; as long as something may be at work nothing is."""

    def read(age_s: float) -> Figures:
        read: dict[str, Any] = CALM | {figure: age_s}
        return Figures(outbox_depth=0, outbox_age_s=0.0, **read)

    assert without_progress(read(SILENT_AFTER_S)) == []
    [finding] = without_progress(read(754.0))
    assert (finding.check, finding.state) == (subject, "warning")
    assert "754 s" in finding.found
