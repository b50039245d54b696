"""What an automation is (U1, U3, U4, U7): its life as a table, its checks, and which change is one of other work."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.automation import (
    AUTOMATION,
    LONGEST_CATCHUP_S,
    AutomationEvent,
    AutomationState,
    Binding,
    changed,
    check_binding,
    check_to_come,
    does_other_work,
)
from domain.refusal import Refusal, accepted
from domain.schedule import Schedule, schedule_of

BINDING = Binding("Morning", "summarise notes.txt into today.md")
NOW = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)

LIFE: dict[str, dict[str, str | None]] = {
    "active": {"pause": "paused", "resume": "active", "finish": "done", "reschedule": "active", "delete": "deleted"},
    "paused": {"pause": "paused", "resume": "active", "finish": None, "reschedule": "paused", "delete": "deleted"},
    "done": {"pause": None, "resume": None, "finish": None, "reschedule": "active", "delete": "deleted"},
    "deleted": dict.fromkeys(["pause", "resume", "finish", "reschedule", "delete"]),
}


@pytest.mark.parametrize("state", AutomationState)
@pytest.mark.parametrize("event", AutomationEvent)
def test_its_life(state: AutomationState, event: AutomationEvent) -> None:
    """U3, U7, I7: deleted is for ever and looks like one that never was; a done one only gets new times."""
    following = AUTOMATION.advance(state, event)
    wanted = LIFE[state.value][event.value]
    if wanted is None:
        assert isinstance(following, Refusal)
        assert following.code == ("not_found" if state is AutomationState.DELETED else "invalid_params")
    else:
        assert following == wanted


@pytest.mark.parametrize(
    ("fields", "other_work"),
    [
        ({"instructions": "summarise a.txt into b.txt"}, True),
        ({"agent_id": "agent_1"}, True),
        ({"permission_mode": "read_only"}, True),
        ({"mode": "continue"}, True),
        ({"title": "Evening"}, False),
        ({"overlap": "allow"}, False),
        ({"catchup_s": 0}, False),
        ({"instructions": BINDING.instructions, "mode": "new", "engine": "native"}, False),
    ],
)
def test_which_change_is_one_of_other_work(fields: dict[str, Any], other_work: bool) -> None:
    """U3: what is done, by whom and how far it may go; not how it is called or when it is left out."""
    before = accepted(check_binding(BINDING))
    assert does_other_work(before, accepted(changed(before, fields))) is other_work


@pytest.mark.parametrize(
    ("fields", "field", "limit"),
    [
        ({"catchup_s": -1}, "catchup_s", LONGEST_CATCHUP_S),
        ({"catchup_s": LONGEST_CATCHUP_S + 1}, "catchup_s", LONGEST_CATCHUP_S),
        ({"title": "t" * 201}, "title", 200),
        ({"instructions": "x" * 64_001}, "instructions", 64_000),
        ({"mode": "sometimes"}, "mode", None),
        ({"overlap": "queue"}, "overlap", None),
    ],
)
def test_limits_are_named(fields: dict[str, Any], field: str, limit: int | None) -> None:
    """T14, U4: what was wrong, which limit."""
    refused = changed(BINDING, fields)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details["field"], refused.details.get("limit")) == ("invalid_params", field, limit)


def test_the_engine_is_spelled_out() -> None:
    """U1: what was left out is stored as what it means."""
    checked = accepted(check_binding(BINDING))
    assert (checked.engine, checked.permission_mode, checked.catchup_s) == ("native", "standard", 3600)
    assert isinstance(changed(BINDING, {"engine": "codex"}), Refusal)


@pytest.mark.parametrize(
    ("given", "to_come"),
    [
        ({"once": {"at": "2026-11-30T16:00:00Z"}}, False),
        ({"once": {"at": "2026-11-30T16:00:01Z"}}, True),
        ({"once": {"at": "2026-11-30T17:00"}, "timezone": "Europe/Berlin"}, False),
        ({"once": {"at": "2026-11-30T17:01"}, "timezone": "Europe/Berlin"}, True),
        ({"every": {"seconds": 1}}, True),
        ({"cron": {"expression": "0 8 29 2 *"}, "timezone": "UTC"}, True),
    ],
)
def test_a_one_off_in_the_past_is_refused(given: dict[str, Any], to_come: bool) -> None:
    """U2: in its own zone, to the second."""
    assert isinstance(check_to_come(accepted(schedule_of(given)), NOW), Schedule) is to_come
