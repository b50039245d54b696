"""Planted markers: what a person or model writes stays out of histories, logs and metrics, also when things fail (I9).

Everything is searched as bytes and as JSON, plain and in all three alignments of base64.
"""

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Json
from tests.blackbox.scripts import delegate, hang, say, steps, tool
from tests.blackbox.work import decide, look, until_at_rest, until_card, until_message, until_reply

MARKS = (
    "text", "title", "instructions", "path", "folder", "content", "old", "new", "attachment", "upload", "summary",
    "progress", "reply", "reason", "badpath", "toolname", "argument", "modelerror", "broken", "refused", "query",
)  # fmt: skip


def mark(name: str) -> str:
    """A marker, short enough to stay whole wherever it is cut, and holding no word that may stand there by itself."""
    assert name in MARKS
    return "Q" + hashlib.sha256(name.encode()).hexdigest()[:14] + "Z"


def forms(text: str) -> Iterator[bytes]:
    """The forms in which a text may hide."""
    raw = text.encode()
    yield raw
    yield raw[::-1]
    yield raw.hex().encode()
    for shift in range(3):
        # Characters that depend on the neighbours are cut off at both ends.
        yield base64.b64encode(b"\x00" * shift + raw)[4 if shift else 0 : -4]


@dataclass
class Findings:
    """Where which marker was found."""

    found: set[str] = field(default_factory=set)
    searched: int = 0

    def search(self, place: str, content: bytes) -> None:
        self.searched += len(content)
        for name in MARKS:
            if any(form in content for form in forms(mark(name))):
                self.found.add(f"{place}: {name}")


@pytest.fixture(scope="module")
async def steward(start_steward: StartSteward) -> AsyncIterator[Instance]:
    async with start_steward("private", STEWARD_MODEL_TIMEOUT_S="2", STEWARD_LOG_FORMAT="json") as started:
        yield started


async def _work_that_succeeds(steward: Instance) -> list[Json]:
    name = f"{mark('upload')}.txt"
    attachment = await steward.upload(mark("attachment").encode(), name)
    path = f"{mark('folder')}/{mark('path')}.txt"
    instructions = mark("instructions") + steps(
        tool("read_file", path=f"attachments/{attachment['attachment_id']}/{name}"),
        tool("report_progress", text=mark("progress")),
        tool("write_file", path=path, content=mark("content") + mark("old")),
        tool("edit_file", path=path, old=mark("old"), new=mark("new")),
        tool("submit_result", summary=mark("summary"), artifacts=[path]),
    )
    handed = delegate(mark("title"), instructions, mark("reply"), attachment_ids=[attachment["attachment_id"]])
    receipt = await steward.send(mark("text") + handed, "private:1", attachment_ids=[attachment["attachment_id"]])
    await until_reply(steward, receipt)
    for _ in range(2):
        card = await until_card(steward)
        await decide(steward, card)
        await steward.until(lambda card=card: _is_decided(steward, card), "the change was made")  # type: ignore[misc]
    await until_message(steward, origin="delivery")
    assert mark("content") + mark("new") in (steward.files / path).read_text()
    return [receipt]


async def _is_decided(steward: Instance, card: Json) -> bool:
    effects = (await steward.ask(look)).effects
    return any(effect["effect_id"] == card["effect_id"] and effect["state"] == "succeeded" for effect in effects)


async def _work_that_fails(steward: Instance) -> list[Json]:
    """Tools that are refused, files that change, models that fail, hang and talk nonsense."""
    bad = steps(
        tool("read_file", path=f"../{mark('badpath')}")
        + tool("read_file", path=f"{mark('badpath')}/none.txt")
        + tool(mark("toolname"), value=mark("argument"))
        + tool("write_file", path=f"../{mark('badpath')}", content=mark("content"))
        + tool("edit_file", path=f"{mark('path')}.none", old=mark("old"), new=mark("new")),
        tool("fail_task", reason=mark("reason")),
    )
    denied = steps(
        tool("write_file", path=f"{mark('refused')}.txt", content=mark("content")),
        tool("fail_task", reason=mark("reason")),
    )
    changed = steps(
        tool("write_file", path=f"{mark('broken')}.txt", content=mark("content")),
        tool("submit_result", summary=mark("summary"), artifacts=[f"{mark('badpath')}.none"]),
        tool("fail_task", reason=mark("reason")),
    )
    texts = (
        delegate(mark("title") + "bad", bad, mark("reply")),
        delegate(mark("title") + "denied", denied, mark("reply")),
        delegate(mark("title") + "changed", changed, mark("reply")),
        delegate(mark("title") + "dead", f"[[error:500 {mark('modelerror')}]]", mark("reply")),
        f"[[error:400 {mark('modelerror')}]]{mark('text')}",
        hang(5) + say(mark("reply")),
        say(mark("reply")) + "[[drop]]",
    )
    receipts = [await steward.send(text, f"private:fail:{number}") for number, text in enumerate(texts)]
    await until_reply(steward, receipts[2])
    tasks = (await steward.ask(look)).tasks
    by_title = {task["title"]: task["task_id"] for task in tasks}
    await decide(steward, await until_card(steward, task_id=by_title[mark("title") + "denied"]), "deny")
    card = await until_card(steward, task_id=by_title[mark("title") + "changed"])
    (steward.files / f"{mark('broken')}.txt").write_text(mark("old"))
    await decide(steward, card)
    async with steward.client() as client:
        session = {"session_id": client.server["main_session_id"]}
        await client.error("agents.send", session, request_id="private:bad", user_input={"text": 7, mark("text"): 1})
        await client.error("agents.tasks.get", {"task_id": mark("query")})
        await client.error("agents.receipt", {"request_id": mark("query") + "/"})
        await client.answer(mark("query"), {mark("argument"): mark("text")})
    async with steward.http() as http:
        await http.get(f"/{mark('query')}?{mark('argument')}={mark('text')}")
        await http.get(f"/login?token={mark('query')}")
        await http.post("/api/attachments", content=b"x", headers={"X-Filename": f"{mark('upload')}%ff"})
    return receipts


async def test_no_marker_in_histories_logs_and_metrics(steward: Instance) -> None:
    """I9, O10, O11, T18: every event of every workflow, what they show, both processes' output, the metrics."""
    receipts = await _work_that_succeeds(steward)
    receipts += await _work_that_fails(steward)
    # A worker and a host that die in the middle leave failures in histories and tracebacks in logs, if anything does.
    slow = hang(1) + tool("submit_result", summary=mark("summary"))
    waiting = await steward.send(delegate(mark("title") + "killed", slow), "k:1")
    await until_reply(steward, waiting)
    steward.kill("worker")
    receipts += [waiting, await steward.send(mark("text") + say(mark("reply")), "k:2")]
    await steward.until(lambda: steward.pid("worker") is not None, "the worker was started again")
    steward.kill("host")
    seen = await until_at_rest(steward, receipts)
    assert mark("summary") in json.dumps(seen.messages), "the markers did go through"
    assert {task["state"] for task in seen.tasks} == {"completed", "failed"}
    assert {"succeeded", "refused"} <= {effect["state"] for effect in seen.effects}

    findings = Findings()
    temporal = await steward.temporal()
    kinds = await _search_histories(temporal, findings)
    assert kinds == {
        "ConversationWorkflow", "TurnWorkflow", "TaskWorkflow", "AttemptWorkflow", "EffectWorkflow", "DeliveryWorkflow",
        "GrantWorkflow",
    }  # fmt: skip
    for database in (steward.space / "state").glob("temporal.sqlite*"):
        findings.search(database.name, database.read_bytes())
    findings.search("output", steward.output.read_bytes())
    async with steward.http() as http:
        metrics = await http.get("/metrics")
        assert metrics.status_code == 200
        findings.search("metrics", metrics.content)
    assert findings.searched > 100_000
    assert not findings.found
    for secret in (steward.token, "scripted-model-key"):
        assert secret not in steward.printed(), "P15: no credential is logged"
    assert "Traceback" not in steward.printed(), "no unexpected error"


async def _search_histories(temporal: Client, findings: Findings) -> set[str]:
    kinds = set()
    async for execution in temporal.list_workflows():
        kinds.add(execution.workflow_type)
        place = f"{execution.workflow_type} {execution.id.partition(':')[0]}"
        handle = temporal.get_workflow_handle(execution.id, run_id=execution.run_id)
        history = await handle.fetch_history()
        for event in history.events:
            findings.search(f"{place} event {event.event_id}", event.SerializeToString())
        findings.search(f"{place} as JSON", history.to_json().encode())
        described = await handle.describe()
        findings.search(f"{place} description", described.raw_description.SerializeToString())
        findings.search(f"{place} listing", execution.raw_info.SerializeToString())
        if execution.status is WorkflowExecutionStatus.RUNNING:
            findings.search(f"{place} queries", await _shown(temporal, execution.id))
    return kinds


async def _shown(temporal: Client, workflow_id: str) -> bytes:
    """What a running workflow answers to its own query and shows as current details."""
    handle = temporal.get_workflow_handle(workflow_id)
    try:
        return repr([await handle.query("state"), await handle.query("__temporal_workflow_metadata")]).encode()
    except RPCError:
        return b""


def test_the_search_finds_what_is_there() -> None:
    """I9: the search itself works, also in base64 of every alignment and in JSON."""
    for shift in range(3):
        findings = Findings()
        findings.search("here", base64.b64encode(b"." * shift + b"xx" + mark("text").encode() + b"yyy"))
        assert findings.found == {"here: text"}
