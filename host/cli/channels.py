"""`steward channels list|add|remove`: where else the person is told of news (N9); they are part of `agents.settings`.

An address is a secret (P15): it is asked for, or read from standard input, and never an argument, which every user of
the machine could read in the list of processes and the shell keeps.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import ListByDefault

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Apprise addresses to which news is announced. Without a command: list.")

ChannelId = Annotated[str, typer.Argument(metavar="CHANNEL", help="A channel's id, as in `steward channels list`.")]
Revision = Annotated[
    int | None, typer.Option("--revision", min=0, help="The revision of the settings; another one is refused.")
]


@app.command("list")
@command()
async def list_channels(invocation: Invocation) -> None:
    """List the channels; their addresses are not shown again."""
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        settings = await client.call("agents.settings.get", {})
    _show(invocation, settings["channels"])


@app.command("add")
@command()
async def add(invocation: Invocation, revision: Revision = None) -> None:
    """Add a channel; its Apprise address is asked for, or read from standard input."""
    import asyncio

    from domain.refusal import refuse

    url = await asyncio.to_thread(_address)
    if not url:
        raise refuse("invalid_params", "No address was given. For example: ntfy://example.org/topic")
    _show(invocation, await _write(invocation, revision, lambda kept: [*kept, {"kind": "apprise", "url": url}]))


@app.command("remove")
@command()
async def remove(invocation: Invocation, channel_id: ChannelId, revision: Revision = None) -> None:
    """Remove a channel; its address is forgotten."""
    from domain.refusal import refuse

    def without(kept: list[Json]) -> list[Json]:
        left = [channel for channel in kept if channel["channel_id"] != channel_id]
        if len(left) == len(kept):
            raise refuse("not_found", "No such channel.")
        return left

    _show(invocation, await _write(invocation, revision, without))


async def _write(
    invocation: Invocation, revision: int | None, changed: Callable[[list[Json]], list[Json]]
) -> list[Json]:
    """Replace the channels by what `changed` makes of them, at the revision at which they were read."""
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    async with connected(invocation.settings()) as client:
        settings = await client.call("agents.settings.get", {})
        channels = changed([{"channel_id": channel["channel_id"]} for channel in settings["channels"]])
        expected = settings["revision"] if revision is None else revision
        wanted = {"expected_revision": expected, "changes": {"channels": channels}}
        answer = await client.call("agents.settings.update", wanted, request_id=new_request_id())
    return list(answer["channels"])


def _address() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Apprise address", hide_input=True)).strip()
    return sys.stdin.readline().strip()


def _show(invocation: Invocation, channels: list[Json]) -> None:
    from host.cli.printing import print_json, print_table, write

    if invocation.as_json:
        print_json({"items": channels, "next_cursor": None})
    elif channels:
        rows = [(channel["channel_id"], channel["kind"], channel["url"]) for channel in channels]
        print_table(("channel", "kind", "address"), rows)
    else:
        write("No channels.")
