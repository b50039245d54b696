"""Questions, stop, resume and retry from the command line, against the scripted stand-in of the host (O4, T9, T11, S3).

The stand-in shows states that a real host passes too quickly to be looked at.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.cli.main import app
from tests.cli.conftest import Ended
from tests.cli.test_commands import Dialogue
from tests.conftest import Eventually
from tests.page.stand_in import StandIn, serve
from tests.page.test_page_work import effect, task

pytestmark = pytest.mark.timeout(120)
CHAT = (sys.executable, "-c", "from host.cli.main import app; app()", "chat")
Run = Callable[..., Coroutine[Any, Any, Ended]]


@pytest.fixture
def stand_in() -> StandIn:
    """The host's rows."""
    return StandIn()


@pytest.fixture
async def environment(
    stand_in: StandIn, free_port: Callable[[], int], tmp_path: Path
) -> AsyncIterator[Mapping[str, str]]:
    """Settings of a client of the stand-in."""
    state = tmp_path / "user-spaces/local/personal/state"
    state.mkdir(parents=True)
    (state / "owner.token").write_text("x" * 40)
    port = free_port()
    async with serve(stand_in, port):
        yield {"STEWARD_HOME": str(tmp_path), "STEWARD_PORT": str(port), "XDG_CONFIG_HOME": str(tmp_path / "none")}


@pytest.fixture
def run(environment: Mapping[str, str]) -> Run:
    """A function that runs a command in this process, beside the stand-in's loop."""

    async def invoke(*arguments: str, given: str = "") -> Ended:
        ended = await asyncio.to_thread(CliRunner().invoke, app, arguments, input=given, env=environment)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return invoke


async def test_questions_are_listed_and_answered(stand_in: StandIn, run: Run) -> None:
    """O4, T9: a number or an option's words choose it, other words are the answer; who is late is told by the code."""
    for number in range(1, 5):
        stand_in.add_question(f"question_{number}", "Which month?", "March", "April")
    listed = await run("questions")
    assert "1: March; 2: April" in listed.out
    assert (await run("questions", "answer", "question_1", "2")).out == "question_1 is answered.\n"
    assert (await run("questions", "answer", "question_2", "-", given="march\n")).code == 0
    told = await run("questions", "answer", "question_3", "2", "--text", "--json")
    assert told.json() == {"receipt": {"state": "done"}}
    assert (await run("questions", "cancel", "question_4")).out == "question_4 is cancelled.\n"
    answers = [stand_in.questions[f"question_{number}"].get("answer") for number in range(1, 5)]
    assert answers == ["April", "March", "2", None]
    assert (await run("questions")).out == "No open questions.\n"
    late = await run("questions", "answer", "question_1", "1")
    assert (late.code, late.error()[0]) == (1, "question_closed")
    assert (await run("questions", "list", "--all", "--json")).json()["items"][-1]["answer"] == "April"
    stand_in.add_question("question_5", "Which month?")
    unseen = await run("questions", "answer", "question_5", "March", "--revision", "2", "--json")
    assert json.loads(unseen.err)["code"] == "revision_conflict"


async def test_a_stop_is_followed_to_its_end(stand_in: StandIn, run: Run, eventually: Eventually) -> None:
    """S1-S3, S6, O4: stop waits and says what still runs; its outcome and what it could not settle are told."""
    stand_in.tasks["task_1"] = {"task": task("task_1", "Work", "running")}
    unwaited = await run("tasks", "stop", "task_1", "--no-wait")
    assert unwaited.out.startswith("Accepted: stop intent_of_task_1.")
    assert stand_in.tasks["task_1"]["task"]["state"] == "stopping"
    waiting = asyncio.create_task(run("tasks", "stop", "task_1"))
    await eventually(lambda: len(stand_in.calls_of("agents.tasks.list")) > 0, "it asks what still runs")
    await stand_in.drop_connections()
    await eventually(lambda: len(stand_in.calls_of("agents.tasks.stop")) == 3, "it comes back")
    first, again = stand_in.calls_of("agents.tasks.stop")[1:]
    assert first["request_id"] == again["request_id"]
    stand_in.finish_stop("task_1", unsettled=["effect_1"])
    await stand_in.notify("tasks", task_id="task_1")
    stopped = await waiting
    assert (stopped.code, stopped.out) == (0, "Stopped. Nothing of it runs any more.\n")
    assert "Stopping: 1 task is still running ..." in stopped.err
    assert "trying again" in stopped.err
    assert "effect effect_1" in stopped.err
    assert (await run("tasks", "stop", "task_1", "--json")).json()["intent"]["outcome"] == "stopped"
    assert (await run("tasks", "stop", "task_none")).error()[0] == "not_found"


async def test_resume_and_retry(stand_in: StandIn, run: Run) -> None:
    """T11, T12, D5, O4: resume names the unknown effects first; refusals are one line with their code."""
    stand_in.tasks["task_1"] = {
        "task": task("task_1", "Work", "failed", requirement_version=1),
        "effects": [effect("effect_1", "unknown")],
        "deliveries": [{"delivery_id": "delivery_1", "kind": "failure", "state": "failed"}],
    }
    assert (await run("tasks", "retry-delivery", "delivery_1")).out == "delivery_1 is submitted.\n"
    refused = await run("tasks", "retry-delivery", "delivery_1")
    assert (refused.code, refused.error()[0]) == (1, "delivery_not_failed")
    resumed = await run("tasks", "resume", "task_1", "--instructions", "-", given="Once more\n")
    assert resumed.out == "task_1 is resumed as version 2.\n"
    assert "Its outcome is not known: Write summary.md (effect_1)" in resumed.err
    sent = stand_in.calls_of("agents.tasks.resume")[0]["params"]
    assert sent == {"task_id": "task_1", "instructions": "Once more"}
    active = await run("tasks", "resume", "task_1", "--json")
    assert json.loads(active.err.splitlines()[-1])["code"] == "task_active"


async def test_a_question_is_answered_in_a_chat(
    stand_in: StandIn, environment: Mapping[str, str], repository: Path, eventually: Eventually
) -> None:
    """T9, D9, O4: a chat asks one thing at a time; Enter puts it off, a number or words answer, talking goes on."""
    stand_in.add_question("question_1", "Which month?", "March", "April")
    stand_in.add_question("question_2", "Which year?")
    person = Dialogue()
    chat = await asyncio.create_subprocess_exec(
        *CHAT,
        env={**os.environ, **environment},
        cwd=repository,
        stdin=person.other,
        stdout=person.other,
        stderr=person.other,
    )
    await person.until("Which month?")
    await person.until("  2  April")
    await person.until("Answer by a number or your words; Enter: later. ")
    person.type("2")
    await person.until("Answered; its task goes on.")
    await person.until("Which year?")
    person.type("")
    await person.until("Later: steward questions answer question_2")
    stand_in.add_question("question_3", "Which day?")
    await stand_in.notify("questions", question_id="question_3")
    await person.until("Which day?")
    stand_in.questions["question_3"].update(state="closed", revision=2)
    await stand_in.notify("questions", question_id="question_3")
    await person.until("answered or closed elsewhere")
    person.type("a message")
    await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "the message is sent")
    person.type("/quit")
    assert await asyncio.wait_for(chat.wait(), 60) == 0
    assert stand_in.questions["question_1"]["answer"] == "April"
    assert stand_in.questions["question_2"]["state"] == "open"
    assert stand_in.calls_of("agents.send")[0]["user_input"]["text"] == "a message"


async def test_a_pipe_is_shown_questions_and_answers_none(
    stand_in: StandIn, environment: Mapping[str, str], repository: Path, eventually: Eventually
) -> None:
    """T9, O4: a program's next line is a message, whatever waits; the question is one line of JSON."""
    stand_in.add_question("question_1", "Which month?")
    chat = await asyncio.create_subprocess_exec(
        *(*CHAT, "--json"),
        env={**os.environ, **environment},
        cwd=repository,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    speaking = asyncio.create_task(chat.communicate(b"hello\n"))
    await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "the message is sent")
    await stand_in.end_turn(stand_in.messages[0]["turn_id"], "Hello yourself.")
    told = [json.loads(line) for line in (await speaking)[0].splitlines()]
    assert told[0]["question"]["question_id"] == "question_1"
    assert told[1]["message"]["text"] == "Hello yourself."
    assert stand_in.questions["question_1"]["state"] == "open"
