"""Accepting an input (C1, C2, C7, C8, I1, I2): one transaction with all or nothing in it, once per request id."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from domain.refusal import Refused
from store import outbox, views
from store.attachment_choice import choose
from store.database import Database
from store.sends import accept_send
from store.tables_conversation import AttachmentRow, MessageAttachmentRow, MessageRow, SessionRow, SpaceRow, TurnRow
from store.tables_host import ChangeRow, OutboxRow, ReceiptRow
from tests.control_plane import Plane

AT_ONCE = 20


async def test_an_accepted_input_is_there_as_a_whole(plane: Plane) -> None:
    """C2, I1: message, queued turn, receipt, outbox entry and notices are committed together."""
    receipt = await plane.send("good morning")
    message = await plane.only(MessageRow, MessageRow.session_id == plane.main_session_id)
    turn = await plane.only(TurnRow)
    entry = await plane.only(OutboxRow)
    assert (message.seq, message.role, message.origin, message.text) == (1, "user", "user", "good morning")
    assert (message.turn_id, message.request_id) == (turn.turn_id, receipt.request_id)
    assert (turn.state, turn.kind, turn.input_seq, turn.run_id) == ("queued", "input", 1, turn.turn_id)
    assert (receipt.state, receipt.turn_id, receipt.message_seq) == ("accepted", turn.turn_id, 1)
    assert (entry.kind, entry.subject_id, entry.done_at) == (outbox.CONVERSATION_WAKE, turn.turn_id, None)
    assert [row.topic for row in await plane.rows(ChangeRow)] == ["conversation", "turn.state"]
    assert views.receipt_view(receipt).items() >= {"state": "accepted", "turn_id": turn.turn_id}.items()


async def test_the_same_request_again_is_its_receipt(plane: Plane) -> None:
    """I2: a retry, whenever it comes, reads the first one's receipt and stores nothing."""
    await plane.complete(await plane.turn("once", request_id="again"))
    first = await plane.only(ReceiptRow)
    second = await plane.send("once", request_id="again")
    assert (second.turn_id, second.message_seq, second.accepted_at) == (
        first.turn_id, first.message_seq, first.accepted_at
    )  # fmt: skip
    assert second.state == "done"
    assert len(await plane.rows(TurnRow)) == 1


@pytest.mark.parametrize(
    "other", [{"text": "something else"}, {"permission_mode": "read_only"}, {"engine": "native"}], ids=str
)
async def test_the_same_id_for_other_content_is_a_conflict(plane: Plane, other: dict[str, Any]) -> None:
    """I2: an id never stands for two requests; nothing of the second one is stored."""
    await plane.send("something", request_id="taken")
    with pytest.raises(Refused) as refused:
        await plane.send(**({"text": "something", "request_id": "taken"} | other))
    assert refused.value.refusal.code == "request_id_conflict"
    assert len(await plane.rows(TurnRow)) == 1


async def test_the_same_send_twenty_times_at_once(plane: Plane, prepared_url: str) -> None:
    """I2: over a connection each, at the same moment: one message, one turn, one receipt for all."""
    databases = [Database(prepared_url) for _ in range(AT_ONCE)]
    wanted = plane.wanted("all at once", request_id="one")

    async def accept(database: Database) -> str | None:
        async with database.write(plane.scope) as tx:
            return (await accept_send(tx, wanted, "owner")).turn_id

    turn_ids = await asyncio.gather(*(accept(database) for database in databases))
    await asyncio.gather(*(database.close() for database in databases))
    assert set(turn_ids) == {(await plane.only(TurnRow)).turn_id}
    assert await plane.messages() == [(1, "user", "all at once")]
    assert len(await plane.rows(OutboxRow)) == 1


async def test_sequences_and_places_have_no_gaps_and_no_doubles(plane: Plane) -> None:
    """C1, C2: inputs that arrive together are put in one order, without holes, refused ones in between."""

    async def send(number: int) -> None:
        if number % 4:
            await plane.send(str(number), request_id=f"r-{number}")
        else:
            with pytest.raises(Refused):
                await plane.send("", request_id=f"r-{number}")

    await asyncio.gather(*(send(number) for number in range(AT_ONCE)))
    messages = await plane.messages()
    assert [seq for seq, _, _ in messages] == list(range(1, len(messages) + 1))
    turns = sorted(await plane.rows(TurnRow), key=lambda turn: turn.position)
    assert [turn.position for turn in turns] == list(range(1, len(messages) + 1))
    assert [turn.input_seq for turn in turns] == [seq for seq, _, _ in messages]
    receipts = {row.request_id: row for row in await plane.rows(ReceiptRow)}
    for seq, _, text in messages:
        assert receipts[f"r-{text}"].message_seq == seq


async def test_two_processes_accept_together(plane: Plane, prepared_url: str, repository: Path) -> None:
    """I1, I2, C2: processes that share ids and the database agree on every receipt; no sequence is lost or doubled."""
    request_ids = [f"shared-{number}" for number in range(10)]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.store.sender", prepared_url, plane.scope.user_space, plane.main_session_id,
            *request_ids, *(f"{name}-{number}" for number in range(5)), cwd=repository, stdin=PIPE, stdout=PIPE,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    assert [process.returncode for process in processes] == [0, 0]
    one, two = (output.decode().split() for output, _ in outputs)
    assert one[:10] == two[:10]
    assert len({*one, *two}) == 20
    assert [seq for seq, _, _ in await plane.messages()] == list(range(1, 21))
    assert sorted(turn.turn_id for turn in await plane.rows(TurnRow)) == sorted({*one, *two})


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("invalid_params", {"text": ""}),
    ("invalid_params", {"text": "字" * 21_334}),
    ("invalid_params", {"text": "a\x00b"}),
    ("invalid_params", {"text": "\ud800"}),
    ("invalid_params", {"attachment_ids": tuple(f"att_{number}" for number in range(17))}),
    ("invalid_params", {"attachment_ids": ("att_1", "att_1")}),
    ("not_found", {"attachment_ids": ("att_1",)}),
    ("not_found", {"mcp_server_ids": ("server",)}),
    ("engine_unavailable", {"engine": "codex"}),
    ("invalid_params", {"permission_mode": "unconfined"}),
    ("session_mismatch", {"session_id": "session_other"}),
]


@pytest.mark.parametrize(("code", "choices"), REFUSED, ids=lambda value: str(value)[:40])
async def test_a_refused_input_leaves_nothing_behind(plane: Plane, code: str, choices: dict[str, Any]) -> None:
    """C8, H6, X2, I1: the code says what was wrong; no row, no number and no notice remains, the id is free."""
    with pytest.raises(Refused) as refused:
        await plane.send(**({"request_id": "refused"} | choices))
    assert refused.value.refusal.code == code
    for table in (TurnRow, ReceiptRow, OutboxRow, ChangeRow):
        assert await plane.rows(table) == []
    assert (await plane.only(SpaceRow)).next_position == 1
    assert (await plane.only(SessionRow)).last_seq == 0
    assert (await plane.send("now right", request_id="refused")).message_seq == 1


async def test_a_failure_before_the_commit_leaves_nothing_behind(plane: Plane) -> None:
    """I1: what was not committed was not accepted, wherever the process died."""

    async def accept_and_fail() -> None:
        async with plane.database.write(plane.scope) as tx:
            await accept_send(tx, plane.wanted("lost", request_id="lost"), "owner")
            await tx.session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await accept_and_fail()
    assert await plane.messages() == []
    assert await plane.rows(ReceiptRow) == []
    assert (await plane.send("found", request_id="lost")).message_seq == 1


async def test_attachments_are_kept_in_order_and_marked(plane: Plane) -> None:
    """C7, C9: the message carries them in the order that was sent, and they are in use from then on."""
    uploads = [await plane.upload(f"{number}.pdf") for number in range(3)]
    ids = tuple(upload.attachment_id for upload in reversed(uploads))
    receipt = await plane.send("", attachment_ids=ids)
    carried = await plane.rows(MessageAttachmentRow, MessageAttachmentRow.session_id == plane.main_session_id)
    assert tuple(row.attachment_id for row in sorted(carried, key=lambda row: row.place)) == ids
    assert all(row.referenced for row in await plane.rows(AttachmentRow))
    async with plane.database.read(plane.scope) as tx:
        [message], _ = await views.message_views(tx, plane.main_session_id, None, None, 10)
    assert tuple(shown["attachment_id"] for shown in message["attachments"]) == ids
    assert message["seq"] == receipt.message_seq
    assert set(message["attachments"][0]) == {"attachment_id", "name", "media_type", "size", "sha256"}


async def test_attachments_too_large_together_are_refused_unmarked(plane: Plane) -> None:
    """C8: 20 MiB is the sum; a refused choice does not keep the uploads from being swept (C9)."""
    half = 10 * 1024 * 1024
    one, two, one_byte = await plane.upload(size=half), await plane.upload(size=half), await plane.upload(size=1)
    with pytest.raises(Refused) as refused:
        await plane.send("", attachment_ids=(one.attachment_id, two.attachment_id, one_byte.attachment_id))
    assert refused.value.refusal.details["value"] == 2 * half + 1
    assert not any(row.referenced for row in await plane.rows(AttachmentRow))
    assert (await plane.send("", attachment_ids=(one.attachment_id, two.attachment_id))).message_seq == 1


async def test_foreign_attachments_are_absent(plane: Plane, other: Plane) -> None:
    """P1, I8: an upload of another user space answers as one that never was."""
    foreign = (await other.upload()).attachment_id

    async def choosing(attachment_id: str) -> Refused:
        async with plane.database.write(plane.scope) as tx:
            with pytest.raises(Refused) as refused:
                await choose(tx, (attachment_id,))
        return refused.value

    assert (await choosing(foreign)).refusal == (await choosing("att_never")).refusal
    assert not (await other.only(AttachmentRow)).referenced


async def test_the_same_request_id_in_two_spaces_is_two_requests(plane: Plane, other: Plane) -> None:
    """I2, I8: request ids are unique per user space and domain, and do not show through."""
    one = await plane.send("mine", request_id="same")
    two = await other.send("theirs", request_id="same")
    assert one.turn_id != two.turn_id
    assert await plane.messages() == [(1, "user", "mine")]
    assert await other.messages() == [(1, "user", "theirs")]


@pytest.mark.parametrize(
    ("before", "after", "limit", "expected", "more"),
    [
        (None, None, 3, [5, 6, 7], True),
        (None, None, 7, [1, 2, 3, 4, 5, 6, 7], False),
        (5, None, 3, [2, 3, 4], True),
        (3, None, 3, [1, 2], False),
        (None, 2, 3, [3, 4, 5], True),
        (None, 5, 3, [6, 7], False),
        (6, 2, 2, [4, 5], True),
        (1, None, 3, [], False),
    ],
)
async def test_history_pages(
    plane: Plane, before: int | None, after: int | None, limit: int, expected: list[int], more: bool
) -> None:
    """H13, C10: pages of history, oldest first, say truly whether there is more in the direction of reading."""
    for number in range(7):
        await plane.send(str(number))
    async with plane.database.read(plane.scope) as tx:
        found, has_more = await views.message_views(tx, plane.main_session_id, before, after, limit)
    assert [message["seq"] for message in found] == expected
    assert has_more is more


async def test_another_spaces_history_is_not_readable(plane: Plane, other: Plane) -> None:
    """I8, H6: the session of another user space is refused exactly like one that does not exist."""
    refusals = []
    for session_id in (other.main_session_id, "session_never"):
        async with plane.database.read(plane.scope) as tx:
            with pytest.raises(Refused) as refused:
                await views.message_views(tx, session_id, None, None, 10)
        refusals.append(refused.value.refusal)
    assert refusals[0] == refusals[1]
    assert refusals[0].code == "session_mismatch"
