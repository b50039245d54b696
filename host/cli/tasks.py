"""`steward tasks list|show|stop|resume|retry-delivery` (O4, T11, T15, T16, S1, D5)."""

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Hidden tasks. Without a command: list.")
TaskId = Annotated[str, typer.Argument(help="A task's id, as in `steward tasks list`.")]

DeliveryId = Annotated[str, typer.Argument(help="A delivery's id, as in `steward tasks show`.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until nothing of it runs, or only until accepted.")]
Instructions = Annotated[
    str | None, typer.Option("--instructions", help="New instructions; - reads them from standard input.")
]
Engine = Annotated[str | None, typer.Option("--engine", help="Another engine.")]


class Mode(StrEnum):
    """Permission modes."""

    STANDARD = "standard"
    READ_ONLY = "read_only"
    UNCONFINED = "unconfined"


PermissionMode = Annotated[Mode | None, typer.Option("--permission-mode", help="Another permission mode.")]


class State(StrEnum):
    """States to list."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    WAITING_USER = "waiting_user"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_AUTHORIZATION = "waiting_authorization"
    STOPPING = "stopping"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


@app.command("list")
@command()
async def list_tasks(
    invocation: Invocation,
    state: Annotated[State | None, typer.Option("--state", help="Only tasks in this state.")] = None,
    limit: LIMIT = 50,
    cursor: CURSOR = None,
) -> None:
    """List tasks, newest first."""
    from host.cli.printing import local_time
    from host.cli.rpc_client import connected

    params = {"limit": limit, "cursor": cursor, "state": None if state is None else state.value}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.tasks.list", {key: value for key, value in params.items() if value})
    print_page(
        page,
        ("task", "state", "updated", "title"),
        lambda task: (task["task_id"], task["state"], local_time(task["updated_at"]), task["title"]),
        as_json=invocation.as_json,
        nothing="No tasks.",
    )


@app.command("show")
@command()
async def show(invocation: Invocation, task_id: TaskId) -> None:
    """Show a task: what was asked, how it went, what it changed, its result, its workflows."""
    from host.cli.printing import print_json
    from host.cli.rpc_client import connected
    from host.cli.task_words import print_task

    async with connected(invocation.settings()) as client:
        detail = await client.call("agents.tasks.get", {"task_id": task_id})
    if invocation.as_json:
        print_json(detail)
    else:
        print_task(detail)


@app.command("stop")
@command()
async def stop(invocation: Invocation, task_id: TaskId, wait: Wait = True) -> None:
    """Stop a task with its sub-tasks; of an ended one, cancel the replies that were not delivered."""
    from host.cli.printing import note, print_json, write
    from host.cli.stopping import OUTCOMES, stop_task

    result = await stop_task(invocation.settings(), task_id, wait=wait)
    intent = result["intent"]
    if invocation.as_json:
        print_json(result)
        return
    if intent["state"] == "done":
        write(OUTCOMES.get(intent["outcome"], intent["outcome"]))
    else:
        write(f"Accepted: stop {intent['intent_id']}. Nothing new starts; how far it is: steward tasks show {task_id}")
    for effect_id in intent["unsettled"]:
        note(f"Its outcome is not known: effect {effect_id}. Look at it: steward tasks show {task_id}")


@app.command("resume")
@command()
async def resume(
    invocation: Invocation,
    task_id: TaskId,
    instructions: Instructions = None,
    engine: Engine = None,
    permission_mode: PermissionMode = None,
) -> None:
    """Begin an ended task anew, as its next version."""
    from host.cli.printing import note, print_json, shown, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    words = sys.stdin.read().strip() if instructions == "-" else instructions
    mode = None if permission_mode is None else permission_mode.value
    changes = {"instructions": words, "engine": engine, "permission_mode": mode}
    wanted = {"task_id": task_id} | {key: value for key, value in changes.items() if value is not None}
    async with connected(invocation.settings()) as client:
        before = await client.call("agents.tasks.get", {"task_id": task_id})
        for effect in before["effects"]:
            if effect["state"] == "unknown":
                note(f"Its outcome is not known: {shown(effect['words'], keep='')} ({effect['effect_id']})")
        result = await client.call("agents.tasks.resume", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(result)
    else:
        write(f"{task_id} is resumed as version {result['task']['requirement_version']}.")


@app.command("retry-delivery")
@command()
async def retry_delivery(invocation: Invocation, delivery_id: DeliveryId) -> None:
    """Bring a failed delivery into the conversation again; the task itself does not run again."""
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    async with connected(invocation.settings()) as client:
        wanted = {"delivery_id": delivery_id}
        result = await client.call("agents.tasks.retry_delivery", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(result)
    else:
        write(f"{delivery_id} is {result['delivery']['state']}.")
