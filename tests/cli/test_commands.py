"""Each command against a running Steward: for people, for programs, and its exit codes (O4, O5)."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable

import httpx
import pytest

from tests.cli.conftest import STEWARD, Running, Steward, ended, pending_card

pytestmark = pytest.mark.timeout(300)
Eventually = Callable[..., Awaitable[None]]


async def signs_in(link: str) -> int:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        answer = await client.get(link, headers={"Accept": "application/json"})
    return answer.status_code


async def test_up_prints_a_link_that_works_once(running: Running) -> None:
    """O1, H19: `steward up` prints the page's one-time link when everything serves."""
    assert await signs_in(running.link) == 303
    assert await signs_in(running.link) == 401


async def test_auth_link_works_beside_the_host(steward: Steward) -> None:
    """O4, H19: a new link comes straight from the database, for people and for programs."""
    printed = await steward.run("auth", "link")
    assert printed.code == 0
    assert await signs_in(printed.out.strip()) == 303
    assert (await steward.run("auth", "link", "--json")).json()["url"] != printed.out.strip()


async def test_send_shows_the_stored_reply(steward: Steward) -> None:
    """O4, I2: the reply is on stdout; the same request id again shows the same one and sends nothing."""
    first = await steward.run("send", "list files", "--request-id", "test:1", "--json")
    assert first.code == 0, first.err
    answer = first.json()
    assert answer["state"] == "completed"
    again = await steward.run("send", "list files", "--request-id", "test:1")
    assert again.code == 0
    assert again.out.strip() == answer["message"]["text"].strip()
    other = await steward.run("send", "another text", "--request-id", "test:1")
    assert other.code == 1
    assert other.error()[0] == "request_id_conflict"


async def test_send_reads_standard_input_and_need_not_wait(steward: Steward) -> None:
    """O4, C2: `-` is standard input; without waiting the receipt is the answer."""
    sent = await steward.run("send", "-", "--no-wait", "--json", given="hello from a pipe")
    assert sent.code == 0, sent.err
    assert sent.json()["receipt"]["state"] in {"accepted", "done"}


async def test_send_with_a_file(steward: Steward) -> None:
    """O4, C9: a file is uploaded and belongs to the message; one that is not there fails in one line."""
    notes = steward.home.parent / "täglich notes.txt"
    notes.write_text("First point. Second point.\n")
    sent = await steward.run("send", "read it", "--attach", str(notes))
    assert sent.code == 0, sent.err
    assert "First point." in sent.out
    missing = await steward.run("send", "read it", "--attach", str(notes.with_name("none.txt")))
    assert missing.code == 1
    assert missing.error()[0] == "invalid_params"
    assert str(notes.parent) not in missing.err


async def test_a_card_is_decided_while_send_waits(steward: Steward, eventually: Eventually) -> None:
    """E9, E10, O4: send says how to decide; allow needs a seen action; a decided card is not decided again."""
    sending = await steward.start("send", "write 'kept' to kept.txt")
    card = (await pending_card(steward))["approval_id"]
    seen = await steward.run("approvals", "show", card)
    assert "+kept" in seen.out
    assert "Create the file" in seen.out
    digest = (await steward.run("approvals", "show", card, "--json")).json()["action_digest"]
    unseen = await steward.run("approvals", "allow", card)
    assert unseen.code == 2
    wrong = await steward.run("approvals", "allow", card, "--digest", "0" * 64)
    assert wrong.error()[0] == "action_digest_mismatch"
    allowed = await steward.run("approvals", "allow", card, "--digest", digest, "--json")
    assert allowed.json()["approval"]["state"] == "approved"
    sent = await ended(sending)
    assert sent.code == 0
    assert "kept.txt" in sent.out
    assert f"steward approvals allow {card}" in sent.err
    assert (steward.files / "kept.txt").read_text() == "kept"
    late = await steward.run("approvals", "deny", card, "--yes")
    assert late.code == 1
    assert late.error()[0].startswith("approval_")


async def test_a_task_from_hand_over_to_result(steward: Steward, eventually: Eventually) -> None:
    """T15, T16, O4: tasks are listed and shown; `steward tasks` and `approvals` list without being told to."""
    (steward.files / "notes.txt").write_text("One thing. Another thing.\n")
    assert (await steward.run("send", "summarise notes.txt into summary.md")).code == 0
    allowed = await steward.run("approvals", "allow", (await pending_card(steward))["approval_id"], "--yes")
    assert allowed.out.endswith("is approved.\n")
    task: dict[str, object] = {}

    async def is_completed() -> bool:
        task.update((await steward.run("tasks", "--json")).json()["items"][0])
        return task["state"] == "completed"

    await eventually(is_completed, "the task is completed", 60)
    listed = await steward.run("tasks", "list", "--state", "completed")
    assert str(task["task_id"]) in listed.out
    shown = await steward.run("tasks", "show", str(task["task_id"]))
    for part in ("Requirement 1", "Attempts", "succeeded", "Effects", "Deliveries", "summary.md", "workflows/task"):
        assert part in shown.out
    detail = (await steward.run("tasks", "show", str(task["task_id"]), "--json")).json()
    assert detail["task"]["task_id"] == task["task_id"]
    foreign = await steward.run("tasks", "show", "task_none")
    assert (foreign.code, foreign.error()[0]) == (1, "not_found")
    assert (await steward.run("approvals")).out == "No pending cards.\n"


async def test_chat_through_a_pipe(steward: Steward) -> None:
    """O4: a pipe that ends still gets its replies; with --json every message is one line."""
    spoken = await steward.run("chat", given="list files\n")
    assert spoken.code == 0, spoken.err
    assert spoken.out.startswith("twin: ")
    told = await steward.run("chat", "--json", given="list files")
    messages = [json.loads(line)["message"] for line in told.out.splitlines()]
    assert [message["role"] for message in messages] == ["assistant"]


class Dialogue:
    """A person at a pseudo-terminal."""

    def __init__(self) -> None:
        self._own, self.other = os.openpty()
        self._read = ""

    async def until(self, words: str) -> None:
        """Read until the words appear; what was read up to their end is behind us."""
        while words not in self._read:
            piece = await asyncio.wait_for(asyncio.to_thread(os.read, self._own, 65536), 90)
            self._read += piece.decode()
        self._read = self._read.partition(words)[2]

    def type(self, line: str) -> None:
        os.write(self._own, f"{line}\n".encode())


async def test_chat_at_a_terminal(steward: Steward) -> None:
    """O4, C4, E10: replies stream, a card is answered in place, and /quit leaves."""
    person = Dialogue()
    chat = await asyncio.create_subprocess_exec(
        STEWARD, "chat", env=steward.environment, stdin=person.other, stdout=person.other, stderr=person.other
    )
    await person.until("> ")
    person.type("write 'typed' to typed.txt")
    await person.until("Create the file")
    await person.until("Allow this once?")
    person.type("perhaps")
    await person.until("Please answer y, n")
    person.type("y")
    await person.until("It is approved.")
    await person.until("twin: ")
    await person.until("typed.txt")
    await person.until("> ")
    person.type("/quit")
    assert await asyncio.wait_for(chat.wait(), 90) == 0
    assert (steward.files / "typed.txt").read_text() == "typed"


async def test_send_survives_a_killed_host(running: Running) -> None:
    """I1, H11, O4: a send that waits goes on when the host was killed, and shows the reply of its one turn."""
    steward = running.steward
    sending = await steward.start("send", "write 'again' to again.txt")
    card = (await pending_card(steward))["approval_id"]
    os.kill(int((steward.home / "run" / "host.pid").read_text()), signal.SIGKILL)
    assert sending.stderr is not None
    lines: list[str] = []
    while "trying again" not in "".join(lines):
        lines.append((await asyncio.wait_for(sending.stderr.readline(), 60)).decode())
    allowed = await steward.run("approvals", "allow", card, "--yes")
    while allowed.code == 3:
        allowed = await steward.run("approvals", "allow", card, "--yes")
    assert allowed.code == 0, allowed.err
    sent = await ended(sending)
    assert sent.code == 0
    assert "again.txt" in sent.out
    assert (steward.files / "again.txt").read_text() == "again"


async def test_doctor_finds_everything_well(steward: Steward, eventually: Eventually) -> None:
    """O5: of a running instance every check is fine, and each is there."""

    async def is_well() -> bool:
        return (await steward.run("doctor", "--json")).code == 0

    await eventually(is_well, "everything is well", 60)
    report = (await steward.run("doctor", "--json")).json()
    found = {check["check"]: check["state"] for check in report["checks"]}
    expected = {
        "folders", "disk", "time zones", "Temporal", "database", "clock", "worker", "host", "model", "engines",
        "confinement",
    }  # fmt: skip
    assert expected <= set(found)
    assert len([name for name in found if name.startswith("port ")]) == 3
    assert (await steward.run("doctor")).out.splitlines()[0].startswith("ok")


async def test_another_binding_is_not_called(steward: Steward) -> None:
    """H1: a client that wants another user space does not use this host."""
    other = await steward.run("tasks", "--user-space", "other")
    assert (other.code, other.error()[0]) == (3, "not_reachable")
    token = steward.home / "user-spaces/local/personal/state/owner.token"
    planted = steward.home / "user-spaces/planted/personal/state"
    planted.mkdir(parents=True)
    (planted / "owner.token").write_text(token.read_text())
    bound = await steward.run("tasks", "--user-space", "planted")
    assert (bound.code, bound.error()[0]) == (1, "session_mismatch")
    (planted / "owner.token").write_text("x" * 40)
    unknown = await steward.run("tasks", "--user-space", "planted", "--json")
    assert json.loads(unknown.err)["code"] == "unauthorized"
