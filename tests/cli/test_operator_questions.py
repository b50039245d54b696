"""The filters of docs/operations.md on a real server with real workflows (O9)."""

import re
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.cli.conftest import Running, pending_card

pytestmark = pytest.mark.timeout(300)
QUESTION = re.compile(r"^### (\d+)\. (.+)\n\n```sql\n(.+)\n```$", re.MULTILINE)


@pytest.fixture
def questions(repository: Path) -> dict[int, str]:
    text = (repository / "docs" / "operations.md").read_text(encoding="utf-8")
    return {int(number): query for number, _, query in QUESTION.findall(text)}


async def found(client: Client, query: str) -> list[str]:
    return [execution.id async for execution in client.list_workflows(query)]


async def test_each_question_is_answered_by_its_filter(running: Running, questions: dict[int, str]) -> None:
    """O9: there are ten, the server understands each, and a task with an effect shows where it should."""
    steward = running.steward
    assert sorted(questions) == list(range(1, 11))
    client = await Client.connect(f"127.0.0.1:{steward.environment['STEWARD_TEMPORAL_PORT']}")
    (steward.files / "questions.txt").write_text("What is asked. What is answered.\n")
    assert (await steward.run("send", "summarise questions.txt into answers.md")).code == 0
    task = (await steward.run("tasks", "--json")).json()["items"][0]["task_id"]
    card = await pending_card(steward, task)
    effect = f"effect:{card['effect_id']}"
    expected = {1: f"attempt:{task}:1:1", 2: f"task:{task}", 3: effect}
    for number, workflow in expected.items():
        await _until(client, questions[number], workflow)
    assert (await steward.run("approvals", "allow", card["approval_id"], "--yes")).code == 0
    await _until(client, questions[5], effect)
    await _until(client, 'StewardKind = "task" AND StewardState = "completed"', f"task:{task}")
    await _until(client, 'WorkflowId STARTS_WITH "attempt:' + task + '"', f"attempt:{task}:1:1")
    for number in (4, 6, 7, 8, 9, 10):
        everything = await found(client, questions[number])
        assert not [workflow for workflow in everything if task in workflow or workflow == effect]


async def _until(client: Client, query: str, workflow: str) -> None:
    """Visibility follows the workflows after a moment."""
    for _ in range(600):
        if workflow in await found(client, query):
            return
    pytest.fail(f"{workflow} is not found by: {query}")
