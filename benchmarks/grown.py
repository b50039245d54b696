"""A control plane as years of use leave it: generated rows in the real schema, also for a million tasks.

Each task has its requirement, attempt, hidden session, receipt and, by its state, evidence, delivery, files, a question
or a stop; each input its turn, reply and receipt. The hard thing is ten million rows in minutes: SQLite makes them
itself, one statement a table, from expressions over a row number.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from domain.task import ACTIVE, TaskState
from store import schema, spaces
from store.database import Database, Scope

OWNER = Scope("local", "personal")
NEIGHBOURS = (Scope("neighbour", "personal"), Scope("local", "coding"))
NEIGHBOURS_SHARE = 20
"""A neighbour has one row for so many of the owner's."""
STILL_ACTIVE = 40
SINCE = 1_577_836_800
"""The first task's creation, in Unix seconds; a minute lies between one and the next."""
ENDED = (*[TaskState.COMPLETED] * 17, *[TaskState.FAILED] * 2, TaskState.STOPPED)
TEXT = "'Please look at this when there is time, and say what you find. '"

Columns = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Filling:
    """One statement: the table's columns as expressions over the numbered lives, for those that fulfil a condition."""

    table: str
    columns: Columns
    condition: str = "true"


def _id(kind: str, number: str = "n") -> str:
    # Sorted and as long as a ULID; older than every real one.
    return f"printf('{kind}_0%s%s%022d', substr(:user_space, 1, 1), substr(:domain, 1, 2), {number})"


def _time(seconds: str) -> str:
    return f"strftime('%Y-%m-%d %H:%M:%S', {seconds}, 'unixepoch') || '.000000'"


def _one_of(values: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {place} THEN '{value}'" for place, value in enumerate(values))
    return f"CASE n % {len(values)} {cases} END"


LIVES = f"""
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count),
lives AS (
    SELECT n, {_id("task")} AS task_id, {_id("hidden")} AS hidden_id, {_id("delivery")} AS delivery_id,
        {_id("turn", "n / 2")} AS turn_id, 'create-' || n AS request_id,
        {_time(f"{SINCE} + 60 * n")} AS at, {_time(f"{SINCE} + 60 * (n + 1 + n % 97)")} AS ended_at,
        CASE WHEN n >= :count - {STILL_ACTIVE} THEN {_one_of(ACTIVE)} ELSE {_one_of(ENDED)} END AS state,
        n >= :count - {STILL_ACTIVE} AS active
    FROM numbers
)
"""
SCOPED = {"user_space": ":user_space", "domain": ":domain"}
REASON = "CASE state WHEN 'failed' THEN 'executor_failed' WHEN 'stopped' THEN 'task_stopped' END"
FIRST_ATTEMPT = {"task_id": "task_id", "requirement_version": "1", "attempt": "1"}
FILE = {"name": "'notes.txt'", "media_type": "'text/plain'", "size": "1", "sha256": "printf('%064d', n)"}
RECEIPT = SCOPED | {
    "digest": "printf('%064d', n)", "state": "'done'", "principal": "'owner'", "graph_generation": "1",
    "accepted_at": "at",
}  # fmt: skip
INPUT, TOLD = "n % 2 = 0", "(n % 10 = 9 AND state = 'completed')"

FILLINGS = (
    Filling(
        "sessions",
        SCOPED
        | {"session_id": "hidden_id", "kind": "'attempt'", "agent_id": "'twin'", "last_seq": "0", "created_at": "at"},
    ),
    Filling(
        "tasks",
        SCOPED
        | {
            "task_id": "task_id", "title": "'Task ' || n", "state": "state", "requirement_version": "1", "attempt": "1",
            "agent_id": "'twin'", "engine": "'native'", "permission_mode": "'standard'", "request_id": "request_id",
            "reason": REASON, "result_summary": f"CASE state WHEN 'completed' THEN {TEXT} END", "admitted_at": "at",
            "graph_generation": "1", "created_at": "at", "updated_at": "CASE WHEN active THEN at ELSE ended_at END",
        },
    ),
    Filling(
        "requirements",
        {
            "task_id": "task_id", "version": "1", "instructions": f"{TEXT} || {TEXT}", "request_id": "request_id",
            "source_session_id": ":session_id", "source_seqs": "'[1]'", "attachment_ids": "'[]'", "created_at": "at",
        },
    ),
    Filling(
        "attempts",
        FIRST_ATTEMPT
        | {
            "session_id": "hidden_id", "request_id": "request_id", "reason": REASON, "waited_seconds": "0",
            "state": "CASE WHEN active THEN 'running' WHEN state = 'completed' THEN 'succeeded' ELSE state END",
            "started_at": "at", "ended_at": "CASE WHEN NOT active THEN ended_at END",
        },
    ),
    Filling(
        "evidence",
        FIRST_ATTEMPT
        | {
            "request_id": "request_id", "session_id": "hidden_id", "outcome": "'succeeded'", "summary": TEXT,
            "created_at": "ended_at",
        },
        "state = 'completed'",
    ),
    Filling(
        "artifacts",
        FIRST_ATTEMPT | FILE | {"artifact_id": _id("artifact"), "created_at": "ended_at"},
        "state = 'completed' AND n % 10 = 0",
    ),
    Filling(
        "deliveries",
        SCOPED
        | {
            "delivery_id": "delivery_id", "owner_kind": "'task'", "owner_id": "task_id", "requirement_version": "1",
            "attempt": "1", "kind": "CASE state WHEN 'failed' THEN 'failure' ELSE 'result' END",
            "subject_id": "task_id || ':1:1'", "state": "'delivered'", "position": "2 * n + 1",
            "request_id": "'own:' || delivery_id", "message_seq": f"CASE WHEN {TOLD} THEN n + 1 END",
            "created_at": "ended_at", "updated_at": "ended_at",
        },
        "state IN ('completed', 'failed')",
    ),
    Filling(
        "questions",
        SCOPED
        | FIRST_ATTEMPT
        | {
            "question_id": _id("question"), "run_id": "task_id || ':1:1'", "step": "1", "place_in_step": "0",
            "revision": "1", "text": "'Which month?'", "options": "'{}'", "created_at": "at",
            "state": "CASE state WHEN 'waiting_user' THEN 'open' ELSE 'answered' END",
        },
        "state = 'waiting_user' OR n % 20 = 0 AND NOT active",
    ),
    Filling(
        "intents",
        SCOPED
        | {
            "intent_id": _id("intent"), "task_id": "task_id", "requirement_version": "1", "state": "'done'",
            "expected": "'stopped'", "outcome": "'stopped'", "covered": "json_array(task_id)", "unsettled": "'[]'",
            "request_id": "'stop-' || n", "principal": "'owner'", "created_at": "at", "done_at": "ended_at",
        },
        "state = 'stopped'",
    ),
    Filling(
        "messages",
        {
            "session_id": ":session_id", "seq": "n + 1", "role": f"CASE WHEN {INPUT} THEN 'user' ELSE 'assistant' END",
            "origin": f"CASE WHEN {INPUT} THEN 'user' WHEN {TOLD} THEN 'delivery' ELSE 'reply' END",
            "text": f"{TEXT} || n", "time": "at", "turn_id": "turn_id", "interrupted": "0",
            "request_id": f"CASE WHEN {INPUT} THEN 'send-' || n END",
            "delivery_id": f"CASE WHEN {TOLD} THEN delivery_id END",
        },
    ),
    Filling(
        "turns",
        SCOPED
        | {
            "turn_id": "turn_id", "session_id": ":session_id", "run_id": "turn_id", "kind": "'input'",
            "state": "'completed'", "position": "2 * n", "agent_id": "'twin'", "permission_mode": "'standard'",
            "principal": "'owner'", "request_id": "'send-' || n", "input_seq": "n + 1", "message_seq": "n + 2",
            "graph_generation": "1", "created_at": "at", "started_at": "at", "ended_at": "at",
        },
        INPUT,
    ),
    Filling(
        "attachments",
        SCOPED | FILE | {"attachment_id": _id("attachment"), "referenced": "1", "created_at": "at"},
        "n % 20 = 0",
    ),
    Filling(
        "message_attachments",
        {"session_id": ":session_id", "seq": "n + 1", "place": "0", "attachment_id": _id("attachment")},
        "n % 20 = 0",
    ),
    Filling(
        "receipts", RECEIPT | {"request_id": "request_id", "method": "'agents.tasks.create'", "task_id": "task_id"}
    ),
    Filling(
        "receipts",
        RECEIPT
        | {"request_id": "'send-' || n", "method": "'agents.send'", "turn_id": "turn_id", "message_seq": "n + 1"},
        INPUT,
    ),
)  # fmt: skip


async def grow(path: Path, count: int) -> None:
    """Write `count` tasks and as many messages for the owner, and a share of that for each neighbour.

    Args:
        path: Where the SQLite file is made, by the product's own migrations.
        count: Tasks and messages each.
    """
    sizes = {OWNER: count} | dict.fromkeys(NEIGHBOURS, count // NEIGHBOURS_SHARE)
    database = Database(f"sqlite+aiosqlite:///{path}")
    await schema.prepare(database)
    sessions = {}
    for scope in sizes:
        async with database.write(scope) as tx:
            sessions[scope] = (await spaces.open_space(tx, "grown")).main_session_id
    await database.close()
    await asyncio.to_thread(_fill, path, [(scope, sessions[scope], size) for scope, size in sizes.items()])


def _fill(path: Path, wanted: Sequence[tuple[Scope, str, int]]) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-500000"):
        connection.execute(f"PRAGMA {pragma}")
    for scope, session_id, count in wanted:
        given = {"user_space": scope.user_space, "domain": scope.domain, "session_id": session_id, "count": count}
        for filling in FILLINGS:
            connection.execute(_statement(filling), given)
        connection.execute(
            "UPDATE spaces SET next_position = 2 * :count + 1 WHERE user_space = :user_space AND domain = :domain",
            given,
        )
        connection.execute("UPDATE sessions SET last_seq = :count WHERE session_id = :session_id", given)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()


def _statement(filling: Filling) -> str:
    names, values = ", ".join(filling.columns), ", ".join(filling.columns.values())
    return f"{LIVES} INSERT INTO {filling.table} ({names}) SELECT {values} FROM lives WHERE {filling.condition}"
