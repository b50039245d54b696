"""The checks of chaos find what they are there to find: one wrong thing each, put into what a Steward would show."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.job import Stopped
from tests.chaos.ledger import Ledger, Request
from tests.chaos.shown import ATTEMPT, START, Shown, breaches


async def test_work_as_it_should_be_is_no_breach(tmp_path: Path) -> None:
    """O17: the checks do not cry wolf."""
    assert await breaches(tmp_path, Shown()) == set()


async def test_an_unknown_outcome_that_is_shown_and_a_stop_that_holds_are_no_breaches(tmp_path: Path) -> None:
    """I4, I6: nor at what is allowed after kills and stops."""
    unknown, stopped = Shown(), Shown()
    unknown.lose("unknown")
    stopped.stop()
    assert await breaches(tmp_path, unknown) == set()
    assert await breaches(tmp_path, stopped) == set()


def _lost_reply(shown: Shown) -> None:
    shown.messages[1]["turn_id"] = "u3"


def _doubled_reply(shown: Shown) -> None:
    shown.messages.append({**shown.messages[1], "seq": 7})


def _doubled_word(shown: Shown) -> None:
    shown.messages[1]["text"] = "a.w0 a.w0 a.w1"


def _shown_twice(shown: Shown) -> None:
    shown.messages.append({**shown.messages[2], "seq": 7, "turn_id": "u3"})


def _never_delivered(shown: Shown) -> None:
    shown.detail["deliveries"][0]["state"] = "failed"
    shown.messages[2] = {**shown.messages[2], "origin": "reply"}


def _no_delivery(shown: Shown) -> None:
    shown.detail["deliveries"] = []
    shown.messages[2] = {**shown.messages[2], "origin": "reply"}


def _started_twice(shown: Shown) -> None:
    shown.effect["trail"].insert(1, START)


def _written_though_refused(shown: Shown) -> None:
    shown.effect["state"] = shown.effect["trail"][1]["verdict"] = "refused"


def _not_written_though_succeeded(shown: Shown) -> None:
    del shown.files["job.txt"]


def _written_by_nobody(shown: Shown) -> None:
    shown.files["job.txt"] = "newnew"


def _started_without_an_outcome(shown: Shown) -> None:
    shown.effect["trail"].pop()


def _unknown_called_failed(shown: Shown) -> None:
    shown.lose("failed")


def _unknown_called_succeeded(shown: Shown) -> None:
    shown.lose("succeeded")


def _unknown_not_listed(shown: Shown) -> None:
    shown.lose("unknown")
    shown.unknown.clear()


def _unknown_not_named_by_the_stop(shown: Shown) -> None:
    shown.lose("unknown")
    shown.detail["intents"] = [{"intent_id": "i1", "state": "done", "outcome": "already_terminal", "unsettled": []}]


def _known_listed_as_unknown(shown: Shown) -> None:
    shown.unknown.append(shown.effect)


def _written_over_a_person(shown: Shown) -> None:
    shown.lose("unknown")
    shown.files["job.txt"] = "new"


def _stop_not_done(shown: Shown) -> None:
    shown.detail["intents"] = [{"intent_id": "i1", "state": "reconciling", "unsettled": []}]


def _step_after_the_stop(shown: Shown) -> None:
    shown.stop()
    shown.steps += 1


def _file_changed_after_the_stop(shown: Shown) -> None:
    shown.stop()
    shown.files["job.txt"] = "newnew"


def _effect_went_on_after_the_stop(shown: Shown) -> None:
    shown.stop()
    shown.job.stopped = Stopped("2026-01-01T00:00:07.000Z", 1, {"e1": "claimed"}, {"job.txt": "new"})


def _effect_ended_after_the_stop(shown: Shown) -> None:
    shown.stop()
    shown.job.stopped = Stopped("2026-01-01T00:00:04.500Z", 1, {"e1": "succeeded"}, {"job.txt": "new"})


def _effect_begun_after_the_stop(shown: Shown) -> None:
    shown.stop()
    shown.job.stopped = Stopped("2026-01-01T00:00:07.000Z", 1, {}, {"job.txt": "new"})


def _second_attempt(shown: Shown) -> None:
    shown.detail["attempts"].append({**ATTEMPT, "attempt": 2})


def _result_before_an_earlier_input(shown: Shown) -> None:
    shown.detail["attempts"][0]["ended_at"] = "2026-01-01T00:00:01.000Z"


def _continuation_before_an_earlier_result(shown: Shown) -> None:
    shown.detail["attempts"][0]["ended_at"] = "2026-01-01T00:00:08.500Z"
    shown.messages[2]["seq"], shown.messages[5]["seq"] = 6, 3


def _never_continued(shown: Shown) -> None:
    shown.messages.pop()


def _continued_twice(shown: Shown) -> None:
    shown.messages.append({**shown.messages[5], "seq": 7, "turn_id": "u7"})


def _continued_without_a_card(shown: Shown) -> None:
    del shown.messages[4]["card"]


def _applied_after_rest(shown: Shown) -> None:
    shown.since = {"files": {"job.txt": "newnew"}}


def _went_back_after_rest(shown: Shown) -> None:
    shown.since = {"state": "running"}


def _own_effect_missing(shown: Shown) -> None:
    shown.own.clear()


def _own_effect_withdrawn(shown: Shown) -> None:
    shown.own[0]["state"] = shown.own[0]["trail"][1]["verdict"] = "withdrawn"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_lost_reply, "lost"),
        (_doubled_reply, "doubled"),
        (_doubled_word, "doubled"),
        (_shown_twice, "doubled"),
        (_never_delivered, "lost"),
        (_no_delivery, "lost"),
        (_started_twice, "doubled"),
        (_written_though_refused, "hidden"),
        (_not_written_though_succeeded, "lost"),
        (_written_by_nobody, "doubled"),
        (_started_without_an_outcome, "hidden"),
        (_unknown_called_failed, "hidden"),
        (_unknown_called_succeeded, "hidden"),
        (_unknown_not_listed, "hidden"),
        (_unknown_not_named_by_the_stop, "hidden"),
        (_known_listed_as_unknown, "hidden"),
        (_written_over_a_person, "doubled"),
        (_stop_not_done, "broken"),
        (_step_after_the_stop, "ran on"),
        (_file_changed_after_the_stop, "ran on"),
        (_effect_went_on_after_the_stop, "ran on"),
        (_effect_ended_after_the_stop, "ran on"),
        (_effect_begun_after_the_stop, "ran on"),
        (_second_attempt, "broken"),
        (_result_before_an_earlier_input, "broken"),
        (_continuation_before_an_earlier_result, "broken"),
        (_never_continued, "lost"),
        (_continued_twice, "doubled"),
        (_continued_without_a_card, "broken"),
        (_applied_after_rest, "ran on"),
        (_went_back_after_rest, "broken"),
        (_own_effect_missing, "lost"),
        (_own_effect_withdrawn, "broken"),
    ],
)
async def test_each_breach_is_seen(tmp_path: Path, change: Callable[[Shown], None], kind: str) -> None:
    """O17: what chaos calls a breach, by kind."""
    shown = Shown()
    change(shown)
    assert kind in await breaches(tmp_path, shown)


def test_a_final_state_that_changes_and_a_second_receipt_are_breaches() -> None:
    """I2, I7: what was seen final stays, and one request has one receipt."""
    ledger = Ledger()
    ledger.final("completed", "job", "v1")
    ledger.final("completed", "job", "v1")
    request = Request("r1", "agents.tasks.stop", {}, {})
    ledger.accept(request, {"state": "accepted", "intent_id": "i1"})
    ledger.accept(request, {"state": "done", "intent_id": "i1"})
    assert not ledger.breaches
    ledger.final("stopped", "job", "v1")
    ledger.accept(request, {"state": "done", "intent_id": "i2"})
    assert [kind for kind, _ in ledger.breaches] == ["broken", "doubled"]
