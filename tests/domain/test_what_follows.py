"""What follows in a run, from its stored steps alone (T4, T5, T10)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.run import Bounds, Following, Place, RunKind, StoredCall, StoredStep, reminder_due, what_follows

BOUNDS = Bounds(model_steps=5, effects=3, wall_seconds=100.0)
PLAIN = StoredStep(1)


@st.composite
def runs(draw: st.DrawFn, most_steps: int = 8) -> tuple[StoredStep, ...]:
    """Steps as rows can be: all calls before some point are done, the ones after it are not; an effect has its id."""
    steps = []
    for number in range(1, draw(st.integers(0, most_steps)) + 1):
        places = draw(st.lists(st.sampled_from(Place), max_size=4))
        steps.append(
            StoredStep(
                number,
                tuple(
                    StoredCall(index, place, True, f"effect-{number}-{index}" if place is Place.EFFECT else None)
                    for index, place in enumerate(places)
                ),
            )
        )
    if steps and steps[-1].calls:
        first_open = draw(st.integers(0, len(steps[-1].calls)))
        proposed = draw(st.booleans())
        calls = tuple(
            call
            if call.index < first_open
            else replace(call, done=False, effect_id=call.effect_id if call.index == first_open and proposed else None)
            for call in steps[-1].calls
        )
        steps[-1] = StoredStep(steps[-1].number, calls)
    return tuple(steps)


def follows(kind: RunKind, steps: Sequence[StoredStep], *, ended: bool = False, active_s: float = 0.0) -> Following:
    return what_follows(kind, steps, ended=ended, bounds=BOUNDS, active_seconds=active_s)


def doing(steps: Sequence[StoredStep], what: Following, calls: Sequence[Place]) -> tuple[StoredStep, ...]:
    """The rows after what follows was done; a new model step makes these calls."""
    if what.kind == "model":
        return (*steps, StoredStep(what.step, tuple(StoredCall(at, place, False) for at, place in enumerate(calls))))
    last = steps[-1]
    done = tuple(
        call
        if call.index != what.index
        else replace(call, effect_id=f"effect-{what.step}-{what.index}")
        if what.kind == "propose"
        else replace(call, done=True)
        for call in last.calls
    )
    return (*steps[:-1], StoredStep(last.number, done))


def test_a_run_begins_with_a_model_step() -> None:
    """T4: the first thing a run does is to ask the model."""
    for kind in RunKind:
        assert follows(kind, ()) == Following(kind="model", step=1)


@given(st.sampled_from(RunKind), runs())
def test_every_prefix_of_stored_steps_has_one_continuation(kind: RunKind, steps: tuple[StoredStep, ...]) -> None:
    """T10: whatever a crash left behind, recovery finds the same defined piece of work, twice the same."""
    for length in range(len(steps) + 1):
        prefix = steps[:length]
        found = follows(kind, prefix)
        assert found == follows(kind, prefix)
        if found.kind == "model":
            assert found.step == length + 1
        elif found.kind in ("call", "propose", "effect"):
            call = prefix[-1].calls[found.index]
            assert found.step == length
            assert not call.done
            assert all(earlier.done for earlier in prefix[-1].calls[: found.index])


@given(st.sampled_from(RunKind), runs(), st.floats(0, 1000))
def test_ended_stays_ended(kind: RunKind, steps: tuple[StoredStep, ...], active_s: float) -> None:
    """I7: nothing follows after the end, whatever rows there are."""
    assert follows(kind, steps, ended=True, active_s=active_s).kind == "ended"


@given(st.sampled_from(RunKind), st.lists(st.lists(st.sampled_from(Place), max_size=4), max_size=12))
def test_every_run_comes_to_its_end(kind: RunKind, answers: list[list[Place]]) -> None:
    """T4: whatever the model asks for, in order and one at a time, the run ends within its bounds."""
    steps: tuple[StoredStep, ...] = ()
    asked = iter(answers)
    visited = []
    while (what := follows(kind, steps)).kind in ("model", "call", "propose", "effect"):
        visited.append((what.kind, what.step, what.index))
        steps = doing(steps, what, next(asked, ()) if what.kind == "model" else ())
    assert len(set(visited)) == len(visited)
    assert [(step, index) for _, step, index in visited] == sorted((step, index) for _, step, index in visited)
    assert len(steps) <= BOUNDS.model_steps
    assert sum(call.effect_id is not None for step in steps for call in step.calls) <= BOUNDS.effects
    assert what.kind == "fail" or (kind is RunKind.TURN and what == Following(kind="reply", step=len(steps)))
    if what.kind == "fail":
        assert what.reason in ("bounds_exceeded", "no_result_submitted")


def test_a_plain_answer_is_a_turns_reply() -> None:
    """C1: a turn that answers without calls has its reply."""
    assert follows(RunKind.TURN, [PLAIN]) == Following(kind="reply", step=1)


def test_an_attempt_is_reminded_once() -> None:
    """T5: a plain answer gets one reminder; the second one fails the attempt, also after calls in between."""
    assert follows(RunKind.ATTEMPT, [PLAIN]) == Following(kind="model", step=2)
    assert reminder_due(RunKind.ATTEMPT, [PLAIN])
    failed = Following(kind="fail", reason="no_result_submitted")
    assert follows(RunKind.ATTEMPT, [PLAIN, StoredStep(2)]) == failed
    worked = StoredStep(2, (StoredCall(0, Place.SHARED, True),))
    assert follows(RunKind.ATTEMPT, [PLAIN, worked]) == Following(kind="model", step=3)
    assert follows(RunKind.ATTEMPT, [PLAIN, worked, StoredStep(3)]) == failed


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        pytest.param(RunKind.TURN, (PLAIN,), id="turns-are-not-reminded"),
        pytest.param(RunKind.ATTEMPT, (), id="not-before-the-first-answer"),
        pytest.param(RunKind.ATTEMPT, (StoredStep(1, (StoredCall(0, Place.SHARED, True),)),), id="not-after-calls"),
    ],
)
def test_no_reminder_where_none_is_due(kind: RunKind, steps: tuple[StoredStep, ...]) -> None:
    """T5: only an attempt that stopped talking is reminded."""
    assert not reminder_due(kind, steps)


def steps_with_calls(count: int, place: Place = Place.SHARED, *, effect: bool = False) -> list[StoredStep]:
    return [
        StoredStep(number, (StoredCall(0, place, True, f"effect-{number}" if effect else None),))
        for number in range(1, count + 1)
    ]


@pytest.mark.parametrize("kind", RunKind)
def test_model_steps_are_bounded_at_the_edge(kind: RunKind) -> None:
    """T4: the last allowed step is taken, the next one is `bounds_exceeded`."""
    assert follows(kind, steps_with_calls(4)) == Following(kind="model", step=5)
    assert follows(kind, steps_with_calls(5)) == Following(kind="fail", reason="bounds_exceeded")


def test_the_last_allowed_step_is_still_carried_out() -> None:
    """T4: the calls of the last step are done, and a turn's reply in it counts; partial work is kept."""
    allowed = steps_with_calls(4)
    open_call = StoredStep(5, (StoredCall(0, Place.SHARED, False),))
    assert follows(RunKind.ATTEMPT, [*allowed, open_call]).kind == "call"
    assert follows(RunKind.TURN, [*allowed, StoredStep(5)]) == Following(kind="reply", step=5)


def test_effects_are_bounded_at_the_edge() -> None:
    """T4: the last allowed effect is proposed, the next one is `bounds_exceeded`; one that exists goes on."""
    wanting = StoredStep(3, (StoredCall(0, Place.EFFECT, False),))
    assert follows(RunKind.ATTEMPT, [*steps_with_calls(2, Place.EFFECT, effect=True), wanting]).kind == "propose"
    full = steps_with_calls(3, Place.EFFECT, effect=True)
    assert follows(RunKind.ATTEMPT, [*full, replace(wanting, number=4)]).reason == "bounds_exceeded"
    proposed = StoredStep(4, (StoredCall(0, Place.EFFECT, False, "effect-4"),))
    assert follows(RunKind.ATTEMPT, [*full, proposed]).kind == "effect"


def test_refused_proposals_do_not_count_as_effects() -> None:
    """T4: a call that the resource policy refused has its answer and never was an effect."""
    refused = steps_with_calls(4, Place.EFFECT)
    wanting = StoredStep(5, (StoredCall(0, Place.EFFECT, False),))
    assert follows(RunKind.ATTEMPT, [*refused, wanting]).kind == "propose"


@pytest.mark.parametrize(("active_s", "kind"), [(99.9, "model"), (100.0, "fail"), (1e9, "fail")])
def test_active_time_is_bounded_at_the_edge(active_s: float, kind: str) -> None:
    """T4: an attempt that has been active for its time begins no further step."""
    assert follows(RunKind.ATTEMPT, steps_with_calls(1), active_s=active_s).kind == kind


def test_the_bounds_of_the_product() -> None:
    """T4: 50 model steps, 100 effects, 24 hours."""
    assert Bounds() == Bounds(model_steps=50, effects=100, wall_seconds=24 * 3600.0)
