"""What still runs after a stop said that it is done, and what is left of a killed Steward, is seen (I6, H16)."""

import asyncio
import json
import os
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Json
from tests.blackbox.scripts import hang
from tests.chaos.checks import check_orphans
from tests.chaos.job import FileChange, Job
from tests.chaos.kills import check_gone
from tests.chaos.ledger import Ledger
from tests.chaos.stops import stop_task
from tests.chaos.watch import Watch
from tests.chaos.world import World
from tests.fake_model_server import FakeModelServer

INTENT = {"intent_id": "i1", "state": "done", "outcome": "stopped", "covered": ["t1"], "unsettled": []}
NOTHING_RUNS: Json = {
    "task": {"task_id": "t1", "title": "job"}, "attempts": [{"state": "stopped"}], "questions": [{"state": "closed"}],
    "effects": [{"effect_id": "e1", "state": "withdrawn"}], "deliveries": [{"state": "cancelled"}],
}  # fmt: skip
SLEEPS = "print(flush=True); import time; time.sleep(600)"


async def stopped(folder: Path, models: FakeModelServer, detail: Json) -> set[str]:
    """The kinds of breaches that a stop finds at the moment at which it is done."""
    ledger = Ledger()

    async def ask(_question: object) -> Json:
        return {"receipt": {"intent_id": "i1"}, "intent": INTENT}

    async def call(method: str, **_params: object) -> Json:
        return {"agents.intents.get": {"intent": INTENT}, "agents.tasks.get": detail}[method]

    line, steward = SimpleNamespace(call=call, ask=ask), SimpleNamespace(files=folder)
    world = World(cast(Any, steward), cast(Any, line), Watch(ledger, 9), models, Random(1), ledger, "s")
    job = Job("job", titles=["job"], changes=[FileChange("job.txt", None, "new")])
    await stop_task(world, job, {"task_id": "t1"})
    assert job.stopped is not None
    assert job.stopped.files == {"job.txt": None}
    return {kind for kind, _ in ledger.breaches}


@contextmanager
def asking(models: FakeModelServer, script: str) -> Iterator[None]:
    """A client that waits for an executor's model call."""
    body = {
        "model": "fake-model", "stream": True, "messages": [{"role": "user", "content": script}],
        "tools": [{"type": "function", "function": {"name": "submit_result", "parameters": {}}}],
    }  # fmt: skip
    request = urllib.request.Request(
        f"{models.url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60):
        yield


async def test_a_stop_that_holds_is_no_breach(tmp_path: Path) -> None:
    """O17, I6: also when the model of another job is asked, and when that of this one was given up."""
    with FakeModelServer() as models:
        with asking(models, hang(60) + "[[say:job.v1]]"):
            pass
        with asking(models, hang(60) + "[[say:other.v1]]"):
            assert await stopped(tmp_path, models, NOTHING_RUNS) == set()


async def test_a_model_call_that_outlives_the_stop_is_seen(tmp_path: Path) -> None:
    """I6, S11: a stop that says done while the task's model call is still open at the model's server."""
    with FakeModelServer() as models, asking(models, hang(60) + "[[say:job.v1]]"):
        assert await stopped(tmp_path, models, NOTHING_RUNS) == {"ran on"}


@pytest.mark.parametrize(
    ("part", "state"),
    [
        ("attempts", "running"),
        ("effects", "started"),
        ("effects", "claimed"),
        ("questions", "open"),
        ("deliveries", "submitted"),
    ],
)
async def test_what_is_under_way_when_the_stop_is_done_is_seen(tmp_path: Path, part: str, state: str) -> None:
    """I6, S2: an attempt, an effect, a question or a reply of what the stop covers."""
    running = {**NOTHING_RUNS, part: [{**NOTHING_RUNS[part][0], "state": state}]}
    with FakeModelServer() as models:
        assert await stopped(tmp_path, models, running) == {"ran on"}


@asynccontextmanager
async def process(
    environment: dict[str, str] | None = None, *arguments: str, program: str = SLEEPS
) -> AsyncIterator[psutil.Process]:
    """A process that sleeps, ended at the end."""
    sleeping = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments,
        env={**os.environ, **(environment or {})}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    found = psutil.Process(sleeping.pid)
    try:
        assert sleeping.stdout is not None
        await sleeping.stdout.readline()
        yield found
    finally:
        for each in [*found.children(recursive=True), found]:
            each.kill()
        await sleeping.wait()


def besides(folder: Path, served_by: psutil.Process) -> list[str]:
    """The kinds of breaches because of processes beside those that serve a Steward."""
    steward, ledger = Instance(folder, (1, 2, 3), {}), Ledger()
    steward.process = cast(Any, served_by)
    check_orphans(ledger, steward)
    return [kind for kind, _ in ledger.breaches]


async def test_a_process_that_nobody_serves_with_is_an_orphan(tmp_path: Path) -> None:
    """H16: found by its environment, by its command line, or because it descends from the Steward."""
    async with process() as serving:
        assert besides(tmp_path, serving) == []
        async with process({"STEWARD_HOME": str(tmp_path)}):
            assert besides(tmp_path, serving) == ["orphan"]
        async with process({}, f"{tmp_path}/x"):
            assert besides(tmp_path, serving) == ["orphan"]
        assert besides(tmp_path, serving) == []
    has_a_child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPS!r}])"
    async with process(program=has_a_child) as serving:
        assert besides(tmp_path, serving) == ["orphan"]


async def test_a_process_that_outlives_its_killed_supervisor_is_an_orphan(tmp_path: Path) -> None:
    """H16: while a process that has died, and one that only has its number, are none."""
    ledger = Ledger()
    async with process() as left:
        check_gone(ledger, [left])
        assert [kind for kind, _ in ledger.breaches] == ["orphan"]
    check_gone(clean := Ledger(), [left])
    assert not clean.breaches
