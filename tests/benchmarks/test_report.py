"""What benchmarks print: ratios with their spread, and tables that Markdown shows (O16)."""

from benchmarks.__main__ import LONG, SHORT
from benchmarks.report import Table, machine, median, ms, p99, s, spread, times


def test_a_table_is_markdown() -> None:
    """O16: caption, columns, rows, notes."""
    table = Table("(a) Accepting", ("", "median"), [("bare", "1 ms"), ("all", "2 ms")], ["quiet"])
    head = ["### (a) Accepting", "", "|  | median |", "| --- | --- |"]
    shown = [*head, "| bare | 1 ms |", "| all | 2 ms |", "", "- quiet"]
    assert table.markdown().splitlines() == shown


def test_ratios_show_their_spread() -> None:
    """O16: one run's ratios, not absolute figures."""
    assert times([2.0]) == "2.00"
    assert times([3.0, 1.0, 2.0]) == "2.00 (1.00 to 3.00)"


def test_rounds_show_their_spread() -> None:
    """O16: a figure of several rounds says how far they were apart; that of one round is what it was."""
    assert spread([0.5], ms) == "500.0 ms"
    assert spread([3.0, 1.0, 2.0], s) == "2.0 s (1.0 s to 3.0 s)"


def test_the_99th_percentile_of_few_values_is_the_largest() -> None:
    """O16: a tail is not hidden by interpolation."""
    assert p99([1.0, 5.0, 2.0]) == 5.0
    assert p99([float(value) for value in range(1, 101)]) == 99.0
    assert median([1.0, 5.0, 2.0]) == 2.0


def test_the_machine_is_named_with_versions() -> None:
    """O16: figures without their machine say nothing."""
    assert "temporalio" in machine().markdown()


def test_everything_is_measured_by_name() -> None:
    """O16: accepts, tasks, first token, gate; lists, a long conversation, stops, recovery, news, automations."""
    assert list(SHORT) == ["accept", "tasks", "first-token", "gate"]
    assert list(LONG) == ["lists", "conversation", "stops", "killed", "attention", "reschedules"]
