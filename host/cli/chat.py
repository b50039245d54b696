"""`steward chat`: typed lines and notifications in one inbox, consumed by one loop (O4, C4, H13).

Whatever was missed while the host was away is read again: every stored message after the last one shown is shown
once. While a card or a question is asked, the next line is its answer.
"""

import asyncio
import sys
from contextlib import suppress
from typing import Any, Final

from domain.refusal import Refused
from host.cli.chat_screen import ChatScreen
from host.cli.chat_waiting import Waiting
from host.cli.failures import Unreachable
from host.cli.reply import ENDED, Input
from host.cli.rpc_client import RpcClient, connected
from host.cli.sending import new_request_id
from host.cli.typed_lines import read_lines
from runtime.settings import Settings

Json = dict[str, Any]
RETRY_S: Final = 1.0
SHOWN_AT_FIRST: Final = 10
PAGE: Final = 100
HELP: Final = (
    "Type to talk. /quit or Ctrl-D ends; what was accepted goes on. A card is answered by y or n, a task's question by "
    "an option's number or your words, both by Enter for later."
)


class Chat:
    """One person at one terminal, or one program at a pipe."""

    def __init__(self, settings: Settings, *, as_json: bool) -> None:
        """Prepare; nothing is connected yet."""
        self._settings = settings
        self._screen = ChatScreen(as_json=as_json)
        # A line, or an event with the connection that it came from; None as an event says that it has ended.
        self._inbox: asyncio.Queue[str | tuple[RpcClient, Json | None] | None] = asyncio.Queue()
        self._unsent: list[Input] = []
        self._own: set[int] = set()
        self._open_turns: set[str] = set()
        self._last_seq: int | None = None
        self._input_ended = False
        self._person = sys.stdin.isatty()
        self._waiting = Waiting(self._screen)

    async def run(self) -> None:
        """Talk until the input ends.

        Raises:
            Unreachable: When no host answers at the start.
            Refused: When the host does not know the credential, or is bound elsewhere.
        """
        read_lines(self._inbox.put_nowait)
        lost = False
        while not self._over():
            try:
                async with connected(self._settings) as client:
                    lost = False
                    await self._serve(client)
            except Unreachable:
                if self._last_seq is None:
                    raise
                if not lost:
                    self._screen.note("The connection to the host is lost; trying again ...")
                lost = True
                await asyncio.sleep(RETRY_S)

    def _over(self) -> bool:
        """A person who ends the input leaves; a pipe that ends still wants its replies."""
        return self._input_ended and (self._person or not (self._open_turns or self._unsent))

    async def _serve(self, client: RpcClient) -> None:
        pump = asyncio.create_task(self._pump(client))
        try:
            await self._catch_up(client)
            while not self._over():
                self._screen.prompt()
                item = await self._inbox.get()
                if not isinstance(item, tuple):
                    await self._line(client, item)
                elif item[0] is client:
                    await self._event(client, item[1])
        finally:
            pump.cancel()
            with suppress(asyncio.CancelledError):
                await pump

    async def _pump(self, client: RpcClient) -> None:
        with suppress(Unreachable):
            while True:
                self._inbox.put_nowait((client, await client.event()))
        self._inbox.put_nowait((client, None))

    async def _catch_up(self, client: RpcClient) -> None:
        if self._last_seq is None:
            await self._begin(client)
        for said in tuple(self._unsent):
            await self._send(client, said)
        await self._show_new(client)
        # Ends may have been missed: a turn that is still under way is told anew, of the others nothing will come.
        self._open_turns -= {turn for turn in self._open_turns if await self._has_ended(client, turn)}
        await self._waiting.refresh(client)

    async def _begin(self, client: RpcClient) -> None:
        """Show a person how the conversation stood; a program at a pipe hears only what is new."""
        wanted = {"session_id": client.main_session, "limit": SHOWN_AT_FIRST if self._person else 1}
        newest = (await client.call("agents.history", wanted))["items"]
        self._last_seq = newest[-1]["seq"] if newest else 0
        if self._person:
            self._show(newest)
            self._screen.note(HELP)

    async def _line(self, client: RpcClient, line: str | None) -> None:
        self._screen.typed()
        text = "" if line is None else line.strip()
        if line is None or text == "/quit":
            self._input_ended = True
        elif self._waiting.asks:
            await self._waiting.answer(client, text)
        elif text == "/help":
            self._screen.note(HELP)
        elif text:
            said = Input(new_request_id(), text)
            self._unsent.append(said)
            await self._send(client, said)

    async def _send(self, client: RpcClient, said: Input) -> None:
        try:
            receipt = await said.send(client)
        except Refused as refused:
            self._screen.note(str(refused))
        else:
            self._own.add(receipt["message_seq"])
            if receipt["state"] == "accepted":
                self._open_turns.add(receipt["turn_id"])
        self._unsent.remove(said)

    async def _event(self, client: RpcClient, event: Json | None) -> None:
        if event is None:
            raise Unreachable("The host closed the connection.")
        match event["topic"]:
            case "turn.delta":
                self._screen.delta(event["turn_id"], event["text"])
            case "turn.reset":
                self._screen.reset(event["turn_id"])
            case "turn.state" if event["state"] in ENDED:
                await self._show_new(client)
                self._open_turns.discard(event["turn_id"])
            case "conversation":
                await self._show_new(client)
            case "approvals" | "questions" | "grants":
                await self._waiting.refresh(client)
            case _:
                pass

    async def _show_new(self, client: RpcClient) -> None:
        more = True
        while more:
            wanted = {"session_id": client.main_session, "after_seq": self._last_seq, "limit": PAGE}
            page = await client.call("agents.history", wanted)
            self._show(page["items"])
            more = page["has_more"]

    def _show(self, messages: list[Json]) -> None:
        for message in messages:
            self._last_seq = message["seq"]
            if message["seq"] not in self._own:
                self._screen.message(message)

    async def _has_ended(self, client: RpcClient, turn_id: str) -> bool:
        wanted = {"session_id": client.main_session, "limit": PAGE}
        recent = (await client.call("agents.history", wanted))["items"]
        return any(message["turn_id"] == turn_id and message["role"] == "assistant" for message in recent)
