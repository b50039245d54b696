"""Bounds of grants: narrowing never widens, expiry never grows, coverage is exact (A1, A3)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.grant import (
    LONGEST_LIFETIME_S,
    PERMISSIONS,
    Bounds,
    Execution,
    GrantState,
    Resource,
    covers,
    grant_state,
    lifetime,
    narrow,
)  # fmt: skip
from domain.refusal import Refusal
from tests.domain.refusal_words import assert_readable

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ACTIONS = ("file.create", "file.replace", "command.run")
PATHS = ("/f", "/f/a", "/f/a/b", "/f/ab", "/g", "/")


def path(value: str) -> Resource:
    return Resource(kind="path", value=value)


RESOURCES = [path(value) for value in PATHS] + [
    Resource(kind="command", value="/usr/bin/make"), Resource(kind="account", value="/f"),
]  # fmt: skip


def bounds(**changes: Any) -> Bounds:
    wide = Bounds(
        issuer="steward", tenant="local", subject="owner", user_space="local", domain="personal", agent_id="twin",
        actions=frozenset(ACTIONS), resources=frozenset({path("/f")}), models=frozenset({"m"}),
        engines=frozenset({"native"}), permission_ceiling="standard", issued_at=NOW,
        expires_at=NOW + timedelta(hours=1),
    )  # fmt: skip
    return wide.model_copy(update=changes)


def execution(**changes: Any) -> Execution:
    wanted = Execution(
        user_space="local", domain="personal", agent_id="twin", action="file.create",
        resources=frozenset({path("/f/a")}), model="m", engine="native", permission_mode="standard",
        action_digest="d" * 64, request_id="r", session_id="s",
    )  # fmt: skip
    return wanted.model_copy(update=changes)


subsets = st.frozensets
some_bounds = st.builds(
    bounds,
    actions=subsets(st.sampled_from(ACTIONS)),
    resources=subsets(st.sampled_from(RESOURCES)),
    models=subsets(st.sampled_from("mn")),
    engines=subsets(st.sampled_from(("native", "codex"))),
    permission_ceiling=st.sampled_from(PERMISSIONS),
    issued_at=st.integers(-9, 9).map(lambda s: NOW + timedelta(seconds=s)),
    expires_at=st.integers(-9, 9).map(lambda s: NOW + timedelta(seconds=s)),
)
some_executions = st.builds(
    execution,
    action=st.sampled_from(ACTIONS),
    resources=subsets(st.sampled_from(RESOURCES), min_size=1, max_size=3),
    model=st.sampled_from("mn"),
    engine=st.sampled_from(("native", "codex")),
    permission_mode=st.sampled_from((*PERMISSIONS, "root")),
)


@given(some_bounds, some_bounds, some_executions)
def test_a_narrowing_covers_exactly_what_both_cover(one: Bounds, other: Bounds, wanted: Execution) -> None:
    """A3: an intersection in every field: never wider than either, and nothing lost that both allow."""
    both = narrow(one, other)
    assert isinstance(both, Bounds)
    allowed = covers(one, wanted, NOW) is None and covers(other, wanted, NOW) is None
    assert (covers(both, wanted, NOW) is None) == allowed
    assert both.expires_at == min(one.expires_at, other.expires_at)


@given(some_bounds, some_bounds)
def test_narrowing_is_the_same_either_way_and_again(one: Bounds, other: Bounds) -> None:
    """A3: narrowing again changes nothing; the order does not matter for what is covered."""
    both = narrow(one, other)
    assert isinstance(both, Bounds)
    again = narrow(both, one)
    assert again == both
    turned = narrow(other, one)
    assert isinstance(turned, Bounds)
    assert turned.fields() == both.fields()


@pytest.mark.parametrize("field", ["issuer", "tenant", "subject", "user_space", "domain", "agent_id"])
def test_bounds_of_different_people_have_nothing_in_common(field: str) -> None:
    """A1, A3: identity is not intersected."""
    refusal = narrow(bounds(), bounds(**{field: "another"}))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "authorization_bounds_exceeded"


@dataclass(frozen=True)
class Case:
    outer: str
    inner: str
    within: bool


@pytest.mark.parametrize(
    "case",
    [
        Case("/f", "/f", True), Case("/f", "/f/a/b", True), Case("/", "/f", True), Case("/f/a", "/f", False),
        Case("/f", "/fa", False), Case("/f", "/f-old/a", False), Case("/f", "/f/../g", False),
        Case("/f/../g", "/g", False), Case("f", "/f", False), Case("/f", "f/a", False), Case("/F", "/f/a", False),
    ],
)  # fmt: skip
def test_a_path_prefix_counts_by_segment(case: Case) -> None:
    """A3: by segment, never by string; nothing that is not absolute and plain covers or is covered."""
    assert path(case.outer).covers(path(case.inner)) is case.within


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, None),
        ({"user_space": "other"}, "authorization_bounds_exceeded"),
        ({"domain": "other"}, "authorization_bounds_exceeded"),
        ({"agent_id": "other"}, "authorization_bounds_exceeded"),
        ({"action": "connector.send"}, "authorization_bounds_exceeded"),
        ({"resources": frozenset({path("/g")})}, "authorization_bounds_exceeded"),
        ({"resources": frozenset({path("/f/a"), path("/g")})}, "authorization_bounds_exceeded"),
        ({"resources": frozenset()}, "authorization_bounds_exceeded"),
        ({"resources": frozenset({Resource(kind="command", value="/f")})}, "authorization_bounds_exceeded"),
        ({"model": "other"}, "authorization_bounds_exceeded"),
        ({"engine": "other"}, "authorization_bounds_exceeded"),
        ({"permission_mode": "read_only"}, None),
        ({"permission_mode": "unconfined"}, "authorization_bounds_exceeded"),
        ({"permission_mode": "anything"}, "authorization_bounds_exceeded"),
    ],
)
def test_each_bound_counts(change: dict[str, Any], code: str | None) -> None:
    """A2: every field of the execution is within the grant, or it is refused."""
    refusal = covers(bounds(), execution(**change), NOW)
    assert (refusal.code if refusal else None) == code


def test_expiry_is_the_first_moment_without_authority() -> None:
    """A5, A12: at its expiry a grant is over."""
    end = NOW + timedelta(hours=1)
    assert covers(bounds(), execution(), end - timedelta(microseconds=1)) is None
    refusal = covers(bounds(), execution(), end)
    assert refusal is not None
    assert refusal.code == "authorization_expired"


@pytest.mark.parametrize(
    ("bound", "revoked_s", "left_s", "state"),
    [
        (True, None, 1, GrantState.ACTIVE), (False, None, 1, GrantState.UNBOUND), (True, None, 0, GrantState.EXPIRED),
        (False, None, 0, GrantState.EXPIRED), (True, 0, 1, GrantState.REVOKED), (False, 0, 0, GrantState.REVOKED),
    ],
)  # fmt: skip
def test_the_state_of_a_grant(bound: bool, revoked_s: int | None, left_s: int, state: GrantState) -> None:
    """A12: derived from the row and the time."""
    revoked_at = None if revoked_s is None else NOW + timedelta(seconds=revoked_s)
    expires_at = NOW + timedelta(seconds=left_s)
    assert grant_state(bound=bound, revoked_at=revoked_at, expires_at=expires_at, now=NOW) is state


@pytest.mark.parametrize("seconds", [59, 0, -1, LONGEST_LIFETIME_S + 1])
def test_a_lifetime_beyond_the_limits_is_refused(seconds: int) -> None:
    """A7: at most 30 days."""
    refusal = lifetime(seconds)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.details["value"]) == ("invalid_params", seconds)


def test_the_lifetime_is_a_day_unless_named() -> None:
    """A7: default 24 h."""
    assert (lifetime(None), lifetime(60), lifetime(LONGEST_LIFETIME_S)) == (86400, 60, LONGEST_LIFETIME_S)


@pytest.mark.parametrize("ceiling", ["root", "", "Standard", "wider"])
@pytest.mark.parametrize("mode", [*PERMISSIONS, "root", ""])
def test_a_ceiling_that_nobody_knows_admits_nothing(ceiling: str, mode: str) -> None:
    """A2, A3: uncertain is a no, and narrowing with such a ceiling, either way round, never makes it a yes."""
    unknown = bounds(permission_ceiling=ceiling)
    for held in (unknown, narrow(bounds(), unknown), narrow(unknown, bounds(permission_ceiling="unconfined"))):
        assert isinstance(held, Bounds)
        refusal = covers(held, execution(permission_mode=mode), NOW)
        assert refusal is not None
        assert refusal.code == "authorization_bounds_exceeded"


@pytest.mark.parametrize("ceiling", PERMISSIONS)
@pytest.mark.parametrize("mode", PERMISSIONS)
def test_a_ceiling_admits_what_is_up_to_itself(ceiling: str, mode: str) -> None:
    """A1: read-only work needs the least, unconfined work the most."""
    admitted = PERMISSIONS.index(mode) <= PERMISSIONS.index(ceiling)
    assert PERMISSIONS == ("read_only", "standard", "unconfined")
    assert (covers(bounds(permission_ceiling=ceiling), execution(permission_mode=mode), NOW) is None) is admitted


REFUSALS: dict[str, dict[str, Any]] = {
    "another agent or user space": {"agent_id": "other"},
    "kind of action": {"action": "connector.send"},
    "act on": {"resources": frozenset({path("/g")})},
    "another model or engine": {"model": "other"},
    "permission mode": {"permission_mode": "unconfined"},
}


@pytest.mark.parametrize("about", REFUSALS)
def test_a_no_says_which_bound_it_is(about: str) -> None:
    """A2, A10: so that the person knows what another grant would have to hold."""
    refusal = covers(bounds(), execution(**REFUSALS[about]), NOW)
    assert refusal is not None
    assert_readable(refusal)
    assert about in refusal.message


def test_other_refusals_are_said_in_words() -> None:
    """A3, A5, A7: with the limit where there is one."""
    expired = covers(bounds(expires_at=NOW), execution(), NOW)
    foreign = narrow(bounds(), bounds(issuer="another"))
    too_long = lifetime(LONGEST_LIFETIME_S + 1)
    for refusal, about in ((expired, "has expired"), (foreign, "same person"), (too_long, "60 and 2592000 seconds")):
        assert isinstance(refusal, Refusal)
        assert_readable(refusal)
        assert about in refusal.message
    assert isinstance(too_long, Refusal)
    assert too_long.details == {"limit": LONGEST_LIFETIME_S, "value": LONGEST_LIFETIME_S + 1}
    assert LONGEST_LIFETIME_S == 30 * 86400


def test_narrowing_keeps_the_later_start_and_all_that_both_name() -> None:
    """A3: issued when the later one was, with who and where of both."""
    later = bounds(issued_at=NOW + timedelta(seconds=5), expires_at=NOW + timedelta(seconds=9))
    assert narrow(bounds(), later) == later
    assert narrow(later, bounds()) == later


def test_bounds_are_stored_and_shown_in_one_order() -> None:
    """A1: lists are sorted, so that equal bounds are equal text; what is stored reads back as the same."""
    held = bounds(
        models=frozenset({"n", "m", "a"}), engines=frozenset({"z", "b", "native"}),
        resources=frozenset({path("/f/z"), path("/f/a"), path("/f"), *RESOURCES[-2:]}),
    )  # fmt: skip
    fields: dict[str, Any] = dict(held.fields())
    assert fields["actions"] == ["command.run", "file.create", "file.replace"]
    assert fields["models"] == ["a", "m", "n"]
    assert fields["engines"] == ["b", "native", "z"]
    assert [(one["kind"], one["value"]) for one in fields["resources"]] == [
        ("account", "/f"), ("command", "/usr/bin/make"), ("path", "/f"), ("path", "/f/a"), ("path", "/f/z")
    ]  # fmt: skip
    assert Bounds.model_validate(fields) == held


@pytest.mark.parametrize("made", ["resource", "bounds", "execution"])
def test_nothing_unknown_is_read_into_bounds(made: str) -> None:
    """A1, A2: a field that is not known is an error and no bound that is silently dropped; none changes afterwards."""
    one = {"resource": path("/f"), "bounds": bounds(), "execution": execution()}[made]
    with pytest.raises(ValidationError):
        type(one).model_validate(one.model_dump(mode="json") | {"more": 1})
    with pytest.raises(ValidationError):
        setattr(one, next(iter(type(one).model_fields)), "x")


@pytest.mark.parametrize(
    ("field", "one", "other", "both"),
    [
        ("actions", {"file.create", "file.replace"}, {"file.replace", "command.run"}, {"file.replace"}),
        ("models", {"m", "n"}, {"n", "o"}, {"n"}),
        ("engines", {"native"}, {"codex"}, set()),
        ("resources", {path("/f"), path("/g/a")}, {path("/f/a"), path("/g")}, {path("/f/a"), path("/g/a")}),
        ("resources", {path("/f")}, {Resource(kind="account", value="/f")}, set()),
    ],
)
def test_narrowing_leaves_what_is_in_both(field: str, one: set[Any], other: set[Any], both: set[Any]) -> None:
    """A3: field by field; of two paths, one within the other, the inner one."""
    for first, second in ((one, other), (other, one)):
        narrowed = narrow(bounds(**{field: frozenset(first)}), bounds(**{field: frozenset(second)}))
        assert isinstance(narrowed, Bounds)
        assert getattr(narrowed, field) == both


@pytest.mark.parametrize("kind", ["command", "account", "mcp_tool"])
def test_what_is_no_path_is_covered_by_itself_alone(kind: str) -> None:
    """A3: a program, an account or a tool has no prefix."""
    one = Resource.model_validate({"kind": kind, "value": "/usr/bin/make"})
    assert one.covers(one)
    for value in ("/usr/bin", "/usr/bin/make/x", "/usr/bin/Make"):
        other = Resource.model_validate({"kind": kind, "value": value})
        assert not one.covers(other)
        assert not other.covers(one)
    assert not one.covers(path("/usr/bin/make"))
    assert not path("/").covers(one)
