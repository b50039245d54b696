"""`steward approvals list|show|allow|deny` (O4, E9, E10)."""

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import ALL, CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Cards: what waits for your decision. Without a command: list.")

CardId = Annotated[str, typer.Argument(help="A card's id, as in `steward approvals list`.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask back.")]
Digest = Annotated[
    str | None, typer.Option("--digest", help="Digest of the action that was seen; another one is refused.")
]


class CardState(StrEnum):
    """States to list."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    INVALIDATED = "invalidated"


State = Annotated[CardState, typer.Option("--state", help="Only cards in this state.")]


@app.command("list")
@command()
async def list_cards(
    invocation: Invocation,
    state: State = CardState.PENDING,
    every: ALL = False,
    limit: LIMIT = 50,
    cursor: CURSOR = None,
) -> None:
    """List cards, newest first; the pending ones unless told otherwise."""
    from host.cli.rpc_client import connected

    params = {"limit": limit, "cursor": cursor, "state": None if every else state.value}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.approvals.list", {key: value for key, value in params.items() if value})
    print_page(
        page,
        ("card", "state", "what", "task or reply"),
        lambda card: (
            card["approval_id"], card["state"], _what(card), card.get("task_id") or card.get("turn_id")
        ),
        as_json=invocation.as_json,
        nothing="No cards." if every else f"No {state.value} cards.",
    )  # fmt: skip


@app.command("show")
@command()
async def show(invocation: Invocation, approval_id: CardId) -> None:
    """Show a card with the exact change."""
    from host.cli.cards import get_card, print_card
    from host.cli.printing import print_json
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        card = await get_card(client, approval_id)
    if invocation.as_json:
        print_json(card)
    else:
        print_card(card)


@app.command("allow")
@command()
async def allow(invocation: Invocation, approval_id: CardId, yes: Yes = False, digest: Digest = None) -> int | None:
    """Allow this one action, once."""
    return await _decide(invocation, approval_id, "allow_once", yes=yes, digest=digest)


@app.command("deny")
@command()
async def deny(invocation: Invocation, approval_id: CardId, yes: Yes = False, digest: Digest = None) -> int | None:
    """Deny this action."""
    return await _decide(invocation, approval_id, "deny", yes=yes, digest=digest)


def _what(card: Json) -> str:
    return f"{card['words']} NOT CONFINED" if card.get("confined") is False else str(card["words"])


async def _decide(
    invocation: Invocation, approval_id: str, decision: str, *, yes: bool, digest: str | None
) -> int | None:
    from host.cli.cards import decide, get_card
    from host.cli.printing import note, print_json, write
    from host.cli.rpc_client import connected
    from runtime.exit_codes import FAILED

    seen = yes or digest is not None
    if not seen and not sys.stdin.isatty():
        words = "nobody can be asked here; give --yes, or --digest of the action that was seen."
        raise typer.BadParameter(words, param_hint="--yes")
    async with connected(invocation.settings()) as client:
        card = await get_card(client, approval_id)
        if not seen and not await _asked(card, decision):
            note("Nothing was decided.")
            return FAILED
        result = await decide(client, card, decision, digest)
    if invocation.as_json:
        print_json(result)
    else:
        write(f"{result['approval']['approval_id']} is {result['approval']['state']}.")
    return None


async def _asked(card: Json, decision: str) -> bool:
    import asyncio

    from host.cli.cards import print_card

    print_card(card)
    question = "Allow this once?" if decision == "allow_once" else "Deny this?"
    return await asyncio.to_thread(typer.confirm, question)
