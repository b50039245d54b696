"""What the long measurements rest on: rows that the product can read, and an account that sees each kind of breach."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conversation import Account, judge
from benchmarks.grown import ENDED, NEIGHBOURS, NEIGHBOURS_SHARE, OWNER, STILL_ACTIVE, grow
from domain.task import ACTIVE
from store import views
from store.database import Database
from store.spaces import space_of

COUNT = 200


async def test_generated_rows_are_read_like_real_ones(tmp_path: Path) -> None:
    """T15, T16, H13, I8: tasks in all states with what belongs to them, messages in order, neighbours of their own."""
    path = tmp_path / "grown.sqlite"
    await grow(path, COUNT)
    database = Database(f"sqlite+aiosqlite:///{path}")
    async with database.read(OWNER) as tx:
        session_id = (await space_of(tx)).main_session_id
        tasks = [*(first := await views.task_page(tx, {}, 100, None))["items"]]
        tasks += (await views.task_page(tx, {}, 100, first["next_cursor"]))["items"]
        messages, more = await views.message_views(tx, session_id, None, None, 100)
        column = await views.activity_view(tx)
    await database.close()
    assert len(tasks) == COUNT
    assert {task["state"] for task in tasks} == {*ACTIVE, *ENDED}
    assert {delivery["state"] for task in tasks for delivery in task["deliveries"]} == {"delivered"}
    assert [message["seq"] for message in messages] == list(range(COUNT - 99, COUNT + 1))
    assert more
    assert {message["origin"] for message in messages} == {"user", "reply", "delivery"}
    assert any(message["attachments"] for message in messages)
    assert len(column["in_progress"]) == STILL_ACTIVE
    assert column["recent_outputs"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    [in_all] = connection.execute("SELECT count(*) FROM tasks").fetchone()
    connection.close()
    assert in_all == COUNT + len(NEIGHBOURS) * (COUNT // NEIGHBOURS_SHARE)


def said(seq: int, turn_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "turn_id": turn_id, "role": "user", "text": f"[[say:{text}]] and more"} | more


def reply(turn_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"turn_id": turn_id, "role": "assistant", "text": text} | more


TURNS = {1: "a", 2: "b", 3: "c", 4: "d"}
INPUTS = [said(1, "a", "one"), said(2, "b", "two"), said(3, "c", "three"), said(4, "d", "four", turn_state="stopped")]
CUT = reply("c", "thr", interrupted=True)
GOOD = [reply("a", "one"), reply("b", "two"), CUT]


@pytest.mark.parametrize(
    ("replies", "wanted"),
    [
        (GOOD, Account(2, 1, 1, (0, 0, 0, 0))),
        (GOOD[:2], Account(2, 0, 1, (1, 0, 0, 0))),
        ([*GOOD, reply("c", "three")], Account(3, 1, 1, (0, 1, 0, 0))),
        ([GOOD[1], GOOD[0], CUT], Account(2, 1, 1, (0, 0, 1, 0))),
        ([GOOD[0], reply("b", "three"), CUT], Account(2, 1, 1, (0, 0, 0, 1))),
        ([*GOOD[:2], reply("c", "three", interrupted=True)], Account(2, 1, 1, (0, 0, 0, 0))),
        ([*GOOD[:2], reply("c", "six", interrupted=True)], Account(2, 1, 1, (0, 0, 0, 1))),
    ],
    ids=["good", "lost", "doubled", "disordered", "foreign", "whole though stopped", "foreign though stopped"],
)
def test_each_kind_of_breach_is_seen(replies: list[dict[str, Any]], wanted: Account) -> None:
    """C1, C4, S8: each accepted input has one reply with its own words, in order, or its stop."""
    assert judge(TURNS, [*INPUTS, *replies]) == wanted
