"""When channels are tried (N9): spacing of pushes to a device, back-off, and the end of trying after an hour."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.attention_sending import GIVE_UP_AFTER, LONGEST_PAUSE, PUSH_EVERY, next_push, retry

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
SECONDS = st.integers(-7200, 7200).map(lambda seconds: NOW + timedelta(seconds=seconds))


@given(st.one_of(st.none(), SECONDS), st.lists(SECONDS, max_size=4))
def test_a_device_gets_at_most_one_push_in_thirty_seconds(last: datetime | None, asked: list[datetime]) -> None:
    """N9: not before the spacing, not before what its service asked for, and not later than the last of these."""
    due = next_push(last, asked, NOW)
    bounds = [NOW, *asked, *([last + PUSH_EVERY] if last else [])]
    assert due == max(bounds)


@given(st.integers(1, 10_000), st.integers(0, 8000), st.one_of(st.none(), st.floats(-5, 8000)))
def test_a_retry_is_later_bounded_and_ends_after_an_hour(tries: int, age_s: int, after_s: float | None) -> None:
    """N9: back-off for at most an hour; what the service asks for is never undercut."""
    first_at = NOW - timedelta(seconds=age_s)
    due = retry(tries, first_at, NOW, after_s)
    if due is None:
        wait = timedelta(seconds=max(after_s or 0.0, 0.0))
        assert NOW + max(LONGEST_PAUSE, wait) > first_at + GIVE_UP_AFTER
        return
    assert NOW < due <= first_at + GIVE_UP_AFTER
    assert due >= NOW + timedelta(seconds=after_s or 0.0)


def test_trying_comes_to_an_end_after_few_attempts() -> None:
    """N9, N13: a channel that never answers costs a bounded number of attempts."""
    now, tries = NOW, 0
    while True:
        tries += 1
        due = retry(tries, NOW, now)
        if due is None:
            break
        now = due
    assert 8 <= tries <= 14
    assert now <= NOW + GIVE_UP_AFTER
