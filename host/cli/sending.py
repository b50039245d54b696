"""How `steward send` sends and shows: the stored reply on stdout, everything else on stderr.

A reply that begins again cannot be taken back from a pipe, so pieces are shown on a terminal alone.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from ulid import ULID

from domain.refusal import refuse
from host.cli.invocation import Invocation
from host.cli.printing import note, print_json, shown, write
from host.cli.reply import Follower, Input, Reply
from host.cli.rpc_client import connected
from host.cli.uploads import upload
from runtime.exit_codes import DONE, FAILED
from runtime.settings import Settings

Json = dict[str, Any]
WELL_ENDED = frozenset({"completed", "parked", "done"})


def new_request_id() -> str:
    """A request id of this program."""
    return f"cli:{ULID()}"


async def send_text(invocation: Invocation, text: str, files: list[Path], *, wait: bool, request_id: str | None) -> int:
    """Send an input with its attachments; the exit code is 1 when its reply failed or was stopped."""
    settings = invocation.settings()
    if request_id is not None and files:
        words = "--request-id cannot be used with --attach: a repeated upload is another attachment."
        raise refuse("invalid_params", words)
    said = Input(request_id or new_request_id(), text, await upload(settings, files))
    if wait:
        return await _with_reply(settings, said, as_json=invocation.as_json)
    async with connected(settings) as client:
        receipt = await said.send(client)
    if invocation.as_json:
        print_json({"receipt": receipt})
    else:
        write(f"Accepted: request {receipt['request_id']}, turn {receipt['turn_id']}.")
    return DONE


async def _with_reply(settings: Settings, said: Input, *, as_json: bool) -> int:
    screen = LineScreen(live=sys.stdout.isatty() and not as_json)
    follower = Follower(settings, said, screen)
    try:
        reply = await follower.reply()
    except asyncio.CancelledError:
        if follower.receipt is not None:
            note(f"\nThe reply goes on; `steward send` with --request-id {said.request_id} shows it.")
        raise
    if as_json:
        print_json({"receipt": reply.receipt, "state": reply.state, "message": reply.message})
    else:
        screen.end(reply)
    return DONE if reply.state in WELL_ENDED else FAILED


class LineScreen:
    """Shows one reply: pieces as they come where `live`, the stored text at the end."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._streamed: list[str] = []

    def delta(self, text: str) -> None:
        """Show a piece."""
        self._streamed.append(text)
        if self._live:
            write(shown(text), end="")

    def reset(self) -> None:
        """Begin again on a new line."""
        if self._live and self._streamed:
            write(" ...")
        self._streamed.clear()

    def card(self, card: Json) -> None:
        """Say how to decide."""
        self.break_line()
        card_id = card["approval_id"]
        note(f"Waiting for your decision: {shown(card['words'], keep='')}")
        for verb in ("show", "allow", "deny"):
            note(f"  steward approvals {verb} {card_id}")

    def lost(self) -> None:
        """Say that it goes on."""
        self.break_line()
        note("The connection to the host is lost; trying again ...")

    def break_line(self) -> None:
        """End a line that pieces have begun."""
        if self._live and self._streamed:
            write("")
            self._streamed.clear()

    def end(self, reply: Reply) -> None:
        """Show the stored reply, unless exactly it was streamed."""
        text = None if reply.message is None else str(reply.message["text"])
        if self._live and self._streamed and (text is None or "".join(self._streamed) == text):
            write("")
        elif text:
            self.break_line()
            write(shown(text))
        if reply.state == "parked":
            note("The reply waits for your decision and goes on by itself afterwards.")
        elif reply.state == "stopped":
            note("The reply was stopped.")
