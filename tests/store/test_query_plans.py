"""Lists stay flat as tables grow (T15, H13, T16): the databases' own plans, so that no large table has to be made."""

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text

from store import automation_firings, automation_views, control_views, effect_views, run_reading, turns, views
from store.database import Database, Transaction
from store.keyset import cursor_after
from store.recovery import recover
from store.relay_queue import candidates
from store.tables_automations import AutomationRow
from store.turns import turn_row
from tests.automation_owner import edit, made
from tests.control_plane import Plane

GROWING = (
    "tasks", "messages", "turns", "deliveries", "intents", "attempts", "message_attachments", "approvals", "effects",
    "questions", "automation_runs",
)  # fmt: skip
Statement = tuple[str, Any]
Read = Callable[[Transaction, Plane], Awaitable[object]]


async def _thread(tx: Transaction, plane: Plane) -> object:
    messages, _more = await views.message_views(tx, plane.main_session_id, None, None, 1)
    return await run_reading.thread_of(tx, await turn_row(tx, messages[0]["turn_id"]))


async def _firings(tx: Transaction, plane: Plane) -> object:
    row = AutomationRow(automation_id="automation_1", task_id="task_1")
    await automation_firings.has_active_task(tx, row)
    await automation_firings.firing_at(tx, "automation_1", tx.now, 1)
    return await automation_firings.buffered_runs(tx, "automation_1")


READS: dict[str, Read] = {
    "tasks": lambda tx, _plane: views.task_page(tx, {}, 50, None),
    "tasks of a state": lambda tx, _plane: views.task_page(tx, {"state": "failed"}, 50, None),
    "tasks of an agent": lambda tx, _plane: views.task_page(tx, {"agent_id": "twin"}, 50, None),
    "tasks of an agent and a state": lambda tx, _plane: views.task_page(
        tx, {"agent_id": "twin", "state": "failed"}, 50, None
    ),
    "tasks of an automation": lambda tx, _plane: views.task_page(tx, {"automation_id": "automation_1"}, 50, None),
    "cards": lambda tx, _plane: effect_views.approval_page(tx, None, 50, None),
    "cards of a state": lambda tx, _plane: effect_views.approval_page(tx, "pending", 50, None),
    "effects": lambda tx, _plane: effect_views.effect_page(tx, 50, None),
    "questions": lambda tx, _plane: control_views.question_page(tx, None, 50, None),
    "automations": lambda tx, _plane: automation_views.automation_page(tx, 50, None),
    "firings of an automation": _firings,
    "a later page of tasks": lambda tx, _plane: views.task_page(tx, {}, 50, cursor_after("task_9")),
    "history": lambda tx, plane: views.message_views(tx, plane.main_session_id, None, None, 50),
    "earlier history": lambda tx, plane: views.message_views(tx, plane.main_session_id, 50, None, 50),
    "later history": lambda tx, plane: views.message_views(tx, plane.main_session_id, None, 0, 50),
    "activity": lambda tx, _plane: views.activity_view(tx),
    "a turn's context": _thread,
    "the next turn": lambda tx, _plane: turns.next_turn(tx),
    "recovery": lambda tx, _plane: recover(tx),
}
"""What everybody waits for: lists, a reply's beginning, the host's start."""
WAITING: dict[str, Read] = {
    "what to relay": lambda tx, _plane: candidates(tx, 50, 64),
    "recovery": READS["recovery"],
}
"""What goes through all that Temporal has not been told yet."""


@pytest.mark.parametrize("name", READS)
async def test_no_list_is_read_or_sorted_as_a_whole(plane: Plane, name: str) -> None:
    """T15, T16, H13: every growing table is searched by an index; nothing sorts all before it cuts off a page."""
    await plane.send("hello")
    await plane.succeed(await plane.attempt())
    if name == "automations":
        await edit(plane, "trigger", (await made(plane)).automation_id)
    statements = await _statements(plane, READS[name])
    assert statements
    breaches = [breach for statement in statements for breach in await _breaches(plane.database, statement)]
    assert breaches == []


@pytest.mark.parametrize("name", WAITING)
async def test_what_waits_is_gone_through_once(plane: Plane, name: str) -> None:
    """C2, D12: nothing is asked again for each row: that costs the square of what waits while Temporal is down."""
    await plane.task()
    statements = await _statements(plane, WAITING[name])
    plans = [line for statement in statements for line in await _plan(plane.database, statement)]
    assert plans
    assert [line for line in plans if line.startswith("CORRELATED")] == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM tasks",
        "SELECT * FROM tasks WHERE user_space = 'a' AND domain = 'b' ORDER BY created_at LIMIT 1",
        "SELECT * FROM messages WHERE text = 'a' LIMIT 1",
    ],
)
async def test_a_plan_that_reads_or_sorts_everything_is_seen(plane: Plane, query: str) -> None:
    """T15: the check itself is not blind."""
    assert await _breaches(plane.database, (query, ()))
    everything_of_a_space = ("SELECT * FROM tasks WHERE user_space = 'a' AND domain = 'b'", ())
    assert bool(await _breaches(plane.database, everything_of_a_space)) is plane.database.sqlite


async def _statements(plane: Plane, read: Read) -> list[Statement]:
    """What a read asks of the database."""
    with _recorded(plane.database) as statements:
        async with plane.database.write(plane.scope) as tx:
            await read(tx, plane)
    return statements


@contextmanager
def _recorded(database: Database) -> Iterator[list[Statement]]:
    statements: list[Statement] = []

    def note(_c: object, _cursor: object, statement: str, parameters: object, _context: object, _many: bool) -> None:
        if statement.lstrip().startswith("SELECT") or " SELECT " in statement:
            statements.append((statement, parameters))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)


async def _breaches(database: Database, statement: Statement) -> list[str]:
    """What in the statement's plan grows with a table: it is read as a whole, or sorted before a page is cut off."""
    limited = "LIMIT" in statement[0]
    grows = _grows_on_sqlite if database.sqlite else _grows_on_postgres
    plan = await _plan(database, statement)
    return [f"{line} <- {statement[0]}" for line in plan if grows(line, limited)]


async def _plan(database: Database, statement: Statement) -> list[str]:
    query, given = statement
    explain = "EXPLAIN QUERY PLAN " if database.sqlite else "EXPLAIN "
    async with database.engine.connect() as connection:
        if not database.sqlite:
            # The tables of a test are small: an index is used only where a plan without one is forbidden.
            for way in ("seqscan", "bitmapscan", "sort"):
                await connection.execute(text(f"SET LOCAL enable_{way} = off"))
        rows = (await connection.exec_driver_sql(explain + query, given)).all()
    return [str(row[-1]).strip() for row in rows]


def _grows_on_sqlite(line: str, limited: bool) -> bool:
    if line.startswith("USE TEMP B-TREE"):
        return limited
    searched = re.match(r"SEARCH (\w+) .*\((.*)\)", line)
    if searched is None:
        return line.startswith("SCAN ") and line.split()[1] in GROWING
    everything = ("user_space=? AND domain=?", "session_id=?")
    return not limited and searched[1] in GROWING and searched[2] in everything


def _grows_on_postgres(line: str, limited: bool) -> bool:
    # PostgreSQL knows how many rows there are, so only what no statistics can help is looked for.
    scanned = re.search(r"Seq Scan on (\w+)", line)
    return (scanned is not None and scanned[1] in GROWING) or (limited and re.match(r"(-> *)?Sort ", line) is not None)
