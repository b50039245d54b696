"""What a command shows: JSON for programs, words and tables for people.

Text of models and files must not move a terminal's cursor or colours: control characters are spelled out.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from domain.visible_text import make_visible

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]
PIPE_WIDTH = 240
"""Columns where there is no terminal: a table row stays one line for grep."""


def print_json(value: object) -> None:
    """Write a value as JSON, indented, in its own letters."""
    write(json.dumps(value, ensure_ascii=False, indent=2))


def write(text: str, *, end: str = "\n") -> None:
    """Write text for a person to stdout, at once; what the terminal cannot encode is replaced."""
    _write(sys.stdout, text + end)


def note(text: str) -> None:
    """Write a line that is not the command's result: to stderr."""
    _write(sys.stderr, f"{text}\n")


def shown(text: str, keep: str = "\n\t") -> str:
    """Return the text with control characters and half surrogate pairs spelled out, but for those in `keep`."""
    return "".join(
        make_visible(character, keep) if unicodedata.category(character) in ("Cc", "Cs") else character
        for character in text
    )


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headings; the first column, an id, is never cut or wrapped."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown("" if cell is None else str(cell), keep="")) for cell in row))
    console().print(table)


def print_fields(fields: Mapping[str, object]) -> None:
    """Print names and values below each other; a value of None is left out."""
    present = {name: str(value) for name, value in fields.items() if value is not None}
    width = max(map(len, present), default=0) + 1
    for name, value in present.items():
        write(f"{name + ':':<{width}} {shown(value, keep='')}")


def print_heading(text: str) -> None:
    """Print the heading of a section."""
    from rich.text import Text

    console().print(Text(f"\n{text}", style="bold"))


def local_time(wire: str | None) -> str | None:
    """Return a time of the wire in this machine's zone, to the second."""
    if wire is None:
        return None
    return datetime.fromisoformat(wire).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def console() -> "Console":
    """A console on stdout; colours only where a terminal is."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False, emoji=False)


def _write(stream: Any, text: str) -> None:  # noqa: ANN401 - a text stream, in a test another one
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()
