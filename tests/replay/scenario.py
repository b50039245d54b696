"""What a recorded scenario is: a name for each history that it leaves, and the run of a whole Steward that makes them.

The texts of all scenarios hold one marker, so that a history with private text in it is found by a test (I9).
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from contracts import names
from tests.workflows.rig import Rig

MARKER = "zqprivatezq"
"""In every text, title, path and content of a scenario; never in a history."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One history to keep: `name` is its file below histories/, without the suffix.

    With `first_run` the first run of a workflow that continued as new is kept, instead of the newest.
    """

    name: str
    workflow_id: str
    first_run: bool = False


Play = Callable[[Rig], Awaitable[Sequence[Recorded]]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A play on a Steward of its own, with settings and a surrounding context (a patched function, a server flag)."""

    play: Play
    settings: Mapping[str, Any] = field(default_factory=dict)
    around: Callable[[], AbstractContextManager[Any]] = nullcontext

    @property
    def title(self) -> str:
        """The play's name, for the one who records."""
        return self.play.__name__


def say(text: str) -> str:
    """The directive that makes the model answer in words."""
    return f"[[say:{MARKER} {text}]]"


def tool(name: str, **arguments: Any) -> str:
    """The directive that makes the model call a tool."""
    return f"[[tool:{name} {json.dumps(arguments)}]]"


def write() -> str:
    """The directive that makes the model write a file."""
    return tool("write_file", path=f"{MARKER}.txt", content=f"{MARKER} new")


def submit() -> str:
    """The directive that makes an executor submit its result."""
    return tool("submit_result", summary=f"{MARKER} four")


def delegate(script: str) -> str:
    """The input that hands a scripted task over."""
    handed_over = tool("delegate_task", title=f"{MARKER} sum", instructions=f"{MARKER} {script}")
    return f"{MARKER} {handed_over}[[then]]{say('in hand')}"


async def delegated(rig: Rig, script: str) -> str:
    """Hand a scripted task over and return its id."""
    await rig.send(delegate(script))
    await rig.until_message(role="assistant", origin="reply")
    (task,) = await rig.tasks()
    return str(task["task_id"])


async def ended(rig: Rig, task_id: str) -> tuple[str, str]:
    """Wait for a task's delivery; its id, and that of the turn that brought it."""
    message = await rig.until_message(origin="delivery")
    assert message["delivery"]["task_id"] == task_id
    return str(message["delivery"]["delivery_id"]), str(message["turn_id"])


def attempt(task_id: str) -> str:
    """The workflow of a task's first attempt."""
    return names.attempt_workflow(task_id, 1, 1)
