"""`agents.send`, `.receipt`, `.history`, `.activity`, `.stop_turn`: the main conversation (C1-C4, C7-C10, S8)."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from domain.refusal import accepted, refuse
from domain.request import check_named_request_id
from host.call import Call
from host.methods.method import Method, Result
from host.methods.working_copies import put_working_copies
from host.rendering import render_markdown
from host.rpc import params
from host.services import Services
from store import receipts, sends, turn_stops, views
from store.sends import Send

PAGE_BYTES: Final = 768 * 1024
"""A page of history stays below this: within a client's queue (H12) and the usual limit of a client's frame."""

REMEMBERED_CHARACTERS: Final = 4096


async def send(services: Services, call: Call[params.Send]) -> Result:
    """Accept an input (C2, C7): message, turn and receipt in one transaction, also while Temporal is down."""
    said = call.said
    if call.params.draft_id is not None:
        raise refuse("not_found", "No such draft.")
    wanted = Send(
        session_id=call.params.session_id,
        request_id=call.write_id,
        text=said.text,
        attachment_ids=tuple(said.attachment_ids),
        engine=said.engine,
        permission_mode=said.permission_mode,
        mcp_server_ids=tuple(said.mcp_server_ids),
    )
    async with services.admission(call) as tx:
        receipt = await sends.accept_send(tx, wanted, call.principal.id)
        await put_working_copies(services, tx, wanted.attachment_ids)
        answer = views.receipt_view(receipt)
    return {"receipt": answer}


async def receipt(services: Services, call: Call[params.ReceiptQuery]) -> Result:
    """What became of a request (I1); `not_found` says that it was never accepted."""
    request_id = accepted(check_named_request_id(call.params.request_id))
    async with services.reading_briefly() as tx:
        found = await receipts.find(tx, request_id)
        if found is None:
            raise refuse("not_found", "No request with this id was accepted here.")
        return {"receipt": views.receipt_view(found)}


async def history(services: Services, call: Call[params.History]) -> Result:
    """A page of the main conversation, oldest first (H13): metadata of attachments only (C10)."""
    wanted = call.params
    async with services.reading_briefly() as tx:
        messages, has_more = await views.message_views(
            tx, wanted.session_id, wanted.before_seq, wanted.after_seq, wanted.limit
        )
    forward = wanted.after_seq is not None and wanted.before_seq is None
    fitting = await asyncio.to_thread(_fitting, messages, from_oldest=forward)
    return {"items": fitting, "has_more": has_more or len(fitting) < len(messages)}


async def activity(services: Services, _call: Call[params.NoParams]) -> Result:
    """The right column in one call (T16)."""
    async with services.reading() as tx:
        return await views.activity_view(tx)


async def stop_turn(services: Services, call: Call[params.StopTurn]) -> Result:
    """Stop the named reply and no other (S8); what runs in this host hears of it at once."""
    wanted = call.params
    async with services.admission(call) as tx:
        stopped = await turn_stops.stop_turn(tx, wanted.session_id, wanted.turn_id, call.write_id, call.principal.id)
        answer = {"receipt": views.receipt_view(stopped), "outcome": stopped.outcome}
    if answer["outcome"] == "stopping":
        services.live_replies.stop(wanted.turn_id)
    return answer


def _fitting(messages: Sequence[Mapping[str, Any]], *, from_oldest: bool) -> list[dict[str, Any]]:
    """As many rendered messages as fit into a page, from the end that the client asked for; at least one."""
    room = PAGE_BYTES
    kept: list[dict[str, Any]] = []
    for message in messages if from_oldest else reversed(messages):
        item = {**message, "html": _html(message["text"])}
        room -= len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))
        if room < 0 and kept:
            break
        kept.append(item)
    return kept if from_oldest else kept[::-1]


def _html(text: str) -> str:
    return _remembered_html(text) if len(text) <= REMEMBERED_CHARACTERS else render_markdown(text)


@lru_cache(maxsize=512)
def _remembered_html(text: str) -> str:
    """Pages are read again at every reconnect and by every client; stored text never changes."""
    return render_markdown(text)


METHODS: Mapping[str, Method] = {
    "agents.send": Method(send, params.Send, writes=True, takes_input=True),
    "agents.receipt": Method(receipt, params.ReceiptQuery),
    "agents.history": Method(history, params.History),
    "agents.activity": Method(activity, params.NoParams),
    "agents.stop_turn": Method(stop_turn, params.StopTurn, writes=True),
}
