"""What the listing commands share: a group that lists by default, paging options, one way to print a page."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

Json = dict[str, Any]
LIMIT = Annotated[int, typer.Option("--limit", min=1, max=100, help="Entries of a page.")]
CURSOR = Annotated[str | None, typer.Option("--cursor", help="Go on where an earlier page ended.")]
ALL = Annotated[bool, typer.Option("--all", help="In whatever state.")]
HELP = ("--help", "--show-completion", "--install-completion")


class ListByDefault(TyperGroup):
    """A group of commands that lists when no command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer does not export its type
        """Put `list` where a command is missing."""
        if not args or (args[0].startswith("-") and args[0] not in HELP):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def print_page(
    page: Json,
    columns: Sequence[str],
    row: Callable[[Json], Sequence[object]],
    *,
    as_json: bool,
    nothing: str,
) -> None:
    """Print a page of a listing method.

    Args:
        page: The method's result.
        columns: Headings.
        row: One entry's cells.
        as_json: Whether to write the result as it is.
        nothing: What to say of an empty page.
    """
    from host.cli.printing import note, print_json, print_table, write

    if as_json:
        print_json(page)
        return
    if page["items"]:
        print_table(columns, [row(item) for item in page["items"]])
    else:
        write(nothing)
    if page["next_cursor"]:
        note(f"There are more: --cursor {page['next_cursor']}")
