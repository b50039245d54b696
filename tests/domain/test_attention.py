"""When the person is told (N2-N8, N12): tables of admission and deadlines, and properties of windows over time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.agent_profile import works
from domain.attention import (
    AGENT_DISABLED,
    NOTIFICATIONS_OFF,
    OPEN_GROUPS,
    SEEN,
    SEEN_GRACE,
    Announce,
    Drop,
    Group,
    Ignore,
    Join,
    Open,
    Policy,
    Wait,
    admit,
    at_deadline,
    first_attempt,
    is_running,
    may_say,
)
from domain.attention_policy import policy_of
from domain.user_settings import DEFAULTS, SettingChanges, chosen, in_force

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
PLAIN = Policy(agent_enabled=True, wanted=True, quiet_until=None, window_s=0)
WINDOW = replace(PLAIN, window_s=60)
MORNING = NOW + timedelta(hours=8)
QUIET = replace(PLAIN, quiet_until=MORNING)
LATER = NOW + timedelta(seconds=60)
OPENED = Group(first_at=NOW - timedelta(seconds=5), deadline=NOW + timedelta(seconds=55), aggregated=True, held=False)
HELD = Group(first_at=NOW - timedelta(hours=1), deadline=MORNING, aggregated=False, held=True)


@pytest.mark.parametrize(
    ("policy", "group", "groups", "expected"),
    [
        (PLAIN, None, 0, Open(NOW, aggregated=False, held=False)),
        (WINDOW, None, 0, Open(LATER, aggregated=True, held=False)),
        (WINDOW, OPENED, 1, Join()),
        (WINDOW, None, OPEN_GROUPS - 1, Open(LATER, aggregated=True, held=False)),
        (WINDOW, None, OPEN_GROUPS, Open(NOW, aggregated=False, held=False, beyond_bound=True)),
        (WINDOW, OPENED, OPEN_GROUPS, Join()),
        (PLAIN, OPENED, 1, Open(NOW, aggregated=False, held=False)),
        (QUIET, None, 0, Open(MORNING, aggregated=False, held=True)),
        (QUIET, None, OPEN_GROUPS, Open(MORNING, aggregated=False, held=True)),
        (QUIET, HELD, 0, Join()),
        (QUIET, OPENED, 1, Join()),
        (PLAIN, HELD, 0, Join()),
        (replace(WINDOW, quiet_until=MORNING), None, 0, Open(MORNING, aggregated=True, held=True)),
        (
            replace(WINDOW, quiet_until=MORNING), None, OPEN_GROUPS,
            Open(MORNING, aggregated=False, held=True, beyond_bound=True),
        ),
        (replace(WINDOW, quiet_until=NOW + timedelta(seconds=1)), None, 0, Open(LATER, aggregated=True, held=False)),
        (replace(PLAIN, agent_enabled=False), OPENED, 1, Ignore(AGENT_DISABLED)),
        (replace(WINDOW, wanted=False), None, 0, Ignore(NOTIFICATIONS_OFF)),
    ],
)  # fmt: skip
def test_admission(policy: Policy, group: Group | None, groups: int, expected: object) -> None:
    """N2, N3, N5, N6, N8, N12: joining extends nothing, 0 is for new events, quiet hours hold, the bound passes by."""
    assert admit(policy, group, groups, NOW) == expected


DUE = replace(OPENED, deadline=NOW)


@pytest.mark.parametrize(
    ("policy", "group", "gone", "seen", "expected"),
    [
        (WINDOW, DUE, None, False, Announce()),
        (WINDOW, OPENED, None, False, Wait(OPENED.deadline, held=False)),
        (replace(WINDOW, wanted=False), OPENED, None, False, Wait(OPENED.deadline, held=False)),
        (replace(WINDOW, wanted=False), DUE, None, False, Drop(NOTIFICATIONS_OFF)),
        (replace(WINDOW, agent_enabled=False), DUE, None, False, Drop(AGENT_DISABLED)),
        (WINDOW, DUE, "message_gone", False, Drop("message_gone")),
        (WINDOW, DUE, None, True, Drop(SEEN)),
        (replace(WINDOW, quiet_until=MORNING), DUE, None, False, Wait(MORNING, held=True)),
        (replace(WINDOW, quiet_until=MORNING), DUE, None, True, Drop(SEEN)),
        (QUIET, HELD, None, False, Wait(MORNING, held=True)),
        (PLAIN, HELD, None, False, Announce()),
        (PLAIN, replace(HELD, deadline=NOW), None, False, Announce()),
        (replace(QUIET, quiet_until=LATER), HELD, None, False, Wait(LATER, held=True)),
        (
            replace(PLAIN, window_s=600), replace(HELD, aggregated=True, first_at=NOW - timedelta(seconds=60)), None,
            False, Wait(NOW + timedelta(seconds=540), held=False),
        ),
    ],
)  # fmt: skip
def test_a_look_at_an_open_group(policy: Policy, group: Group, gone: str | None, seen: bool, expected: object) -> None:
    """N2, N4, N8, N12: the present policy decides; a held group is looked at before its time when settings change."""
    assert at_deadline(policy, group, gone, seen=seen, now=NOW) == expected


@given(
    st.integers(1, 900),
    st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(0, 900)), min_size=1, max_size=60),
)
def test_one_announcement_per_window_whatever_joins(window_s: int, events: list[tuple[int, int]]) -> None:
    """N3, N5, N13: events at any times, with W changing between them, never announce an agent twice within a window."""
    now, group, announced = NOW, None, []
    windows: list[tuple[datetime, datetime]] = []
    for gap_ms, next_window_s in events:
        now += timedelta(milliseconds=gap_ms)
        if group is not None and group.deadline <= now:
            assert at_deadline(PLAIN, group, None, seen=False, now=group.deadline) == Announce()
            announced.append(group.deadline)
            group = None
        answer = admit(replace(PLAIN, window_s=window_s), group, int(group is not None), now)
        if isinstance(answer, Open):
            assert group is None
            assert answer.deadline == now + timedelta(seconds=window_s)
            group = Group(now, answer.deadline, answer.aggregated, answer.held)
            windows.append((now, answer.deadline))
        else:
            assert answer == Join()
        window_s = next_window_s or window_s
    assert all(start <= end for start, end in windows)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(windows))
    assert announced == sorted(set(announced))


@given(st.integers(0, 900), st.integers(0, 100_000), st.integers(0, 200), st.booleans())
def test_nothing_is_announced_in_quiet_hours(window_s: int, quiet_s: int, groups: int, opened: bool) -> None:
    """N8: whatever the window and the bound, the deadline is not before their end, or the look then says to wait."""
    policy = Policy(
        agent_enabled=True, wanted=True, quiet_until=NOW + timedelta(seconds=quiet_s + 1), window_s=window_s
    )
    answer = admit(policy, OPENED if opened else None, groups, NOW)
    if isinstance(answer, Open):
        assert answer.deadline >= NOW + timedelta(seconds=quiet_s + 1)
    group = Group(NOW, NOW, aggregated=window_s > 0, held=False)
    waits = at_deadline(policy, group, None, seen=False, now=NOW)
    assert isinstance(waits, Wait)
    assert waits.held
    assert waits.until >= NOW + timedelta(seconds=quiet_s + 1)


@given(st.booleans(), st.booleans(), st.sampled_from([None, "card_settled"]), st.booleans(), st.booleans())
def test_what_may_not_be_said_is_dropped_held_or_not(
    agent_enabled: bool, wanted: bool, gone: str | None, seen: bool, held: bool
) -> None:
    """N4, N12: one rule for deadlines and for every attempt of a channel."""
    policy = Policy(agent_enabled, wanted, None, 60)
    group = replace(DUE, held=held)
    refused = may_say(policy, gone, seen=seen)
    answer = at_deadline(policy, group, gone, seen=seen, now=NOW + timedelta(hours=1))
    assert answer == (Announce() if refused is None else Drop(refused))
    assert (refused is None) == (agent_enabled and wanted and gone is None and not seen)


def test_other_channels_give_the_page_the_time_to_say_that_it_was_seen() -> None:
    """N2: what has waited in a window waits no longer."""
    assert first_attempt(NOW, NOW) == NOW + SEEN_GRACE
    assert first_attempt(NOW - timedelta(minutes=1), NOW) == NOW


def test_the_policy_of_an_agent() -> None:
    """N2: the space's switch, the agent's own, quiet hours in their zone, the window."""
    settings = in_force({})
    assert policy_of(settings, "twin", NOW, agent_enabled=True) == PLAIN
    assert not policy_of(settings, "twin", NOW, agent_enabled=False).agent_enabled
    wanted = SettingChanges.model_validate({
        "notifications": {"agents": {"aide": False}}, "aggregation_s": 60,
        "quiet_hours": {"enabled": True, "timezone": "Europe/Berlin", "start": "14:00", "end": "15:00"},
    })  # fmt: skip
    settings = in_force(chosen({}, wanted))
    assert policy_of(settings, "aide", NOW, agent_enabled=True).forbids == NOTIFICATIONS_OFF
    assert policy_of(settings, "twin", NOW, agent_enabled=True) == Policy(True, True, NOW + timedelta(hours=1), 60)
    assert policy_of(settings, "twin", NOW + timedelta(hours=1), agent_enabled=True).quiet_until is None
    off = chosen({}, SettingChanges.model_validate({"notifications": {"enabled": False, "agents": {"twin": True}}}))
    assert policy_of(in_force(off), "twin", NOW, agent_enabled=True).forbids == NOTIFICATIONS_OFF
    assert DEFAULTS["aggregation_s"] == 0


@pytest.mark.parametrize(
    ("now", "ends"),
    [
        ("2026-03-28T23:30:00+00:00", "2026-03-29T05:00:00+00:00"),
        ("2026-10-25T00:30:00+00:00", "2026-10-25T06:00:00+00:00"),
        ("2026-10-25T01:30:00+00:00", "2026-10-25T06:00:00+00:00"),
        ("2026-06-01T20:00:00+00:00", "2026-06-02T05:00:00+00:00"),
    ],
)
def test_news_is_held_to_the_mornings_wall_time_through_a_change_of_clocks(now: str, ends: str) -> None:
    """N2, N8: from 22:00 to 07:00 in Berlin, in the short night, in the long one twice, and in an ordinary one."""
    hours = {"enabled": True, "timezone": "Europe/Berlin", "start": "22:00", "end": "07:00"}
    settings = in_force(chosen({}, SettingChanges.model_validate({"quiet_hours": hours})))
    moment, morning = datetime.fromisoformat(now), datetime.fromisoformat(ends)
    policy = policy_of(settings, "twin", moment, agent_enabled=True)
    assert admit(policy, None, 0, moment) == Open(morning, aggregated=False, held=True)
    held = Group(moment, morning, aggregated=False, held=True)
    early = morning - timedelta(seconds=1)
    just_before = policy_of(settings, "twin", early, agent_enabled=True)
    assert at_deadline(just_before, held, None, seen=False, now=early) == Wait(morning, held=True)
    then = policy_of(settings, "twin", morning, agent_enabled=True)
    assert at_deadline(then, held, None, seen=False, now=morning) == Announce()


@pytest.mark.parametrize("policy", [PLAIN, WINDOW, QUIET, replace(PLAIN, wanted=False)])
@pytest.mark.parametrize("gone", [None, "message_gone"])
def test_a_running_window_waits_whatever_else_is_the_case(policy: Policy, gone: str | None) -> None:
    """N3, N13: so that a look at it may leave everything else unread."""
    assert is_running(OPENED, NOW)
    assert not is_running(OPENED, OPENED.deadline)
    assert not is_running(HELD, NOW)
    for seen in (False, True):
        assert at_deadline(policy, OPENED, gone, seen=seen, now=NOW) == Wait(OPENED.deadline, held=False)


@pytest.mark.parametrize(
    ("agent_id", "known", "disabled", "expected"),
    [
        ("twin", False, False, True),
        ("twin", True, False, True),
        ("agent_1", True, False, True),
        ("agent_1", True, True, False),
        ("agent_1", False, False, False),
    ],
)
def test_who_works(agent_id: str, known: bool, disabled: bool, expected: bool) -> None:
    """N12: an agent that is known and not disabled, and twin, who needs no row."""
    assert works(agent_id, known=known, disabled=disabled) is expected
