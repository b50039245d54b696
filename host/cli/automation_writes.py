"""`steward automations update|pause|resume|trigger|delete` (O4, U3, U7): at the newest revision unless one is named.

They join the commands of `host.cli.automations` in its group.
"""

from typing import Annotated, Any

import typer

from host.cli.automations import AutomationId, GrantOption, Mode, Overlap, Revision
from host.cli.automations import app as app
from host.cli.invocation import Invocation, command

Json = dict[str, Any]
OtherTitle = Annotated[str | None, typer.Option("--title", help="A short name.")]
OtherWork = Annotated[str | None, typer.Option("--instructions", help="What is to be done each time, in full.")]
OtherMode = Annotated[Mode | None, typer.Option("--mode", help="A new task each time, or go on with the same one.")]
OtherOverlap = Annotated[Overlap | None, typer.Option("--overlap", help="While an earlier one still runs.")]
OtherCatchup = Annotated[
    int | None, typer.Option("--catchup", help="Seconds within which a missed time is made up for.")
]


@app.command("update")
@command()
async def update(
    invocation: Invocation,
    automation_id: AutomationId,
    title: OtherTitle = None,
    instructions: OtherWork = None,
    mode: OtherMode = None,
    overlap: OtherOverlap = None,
    catchup: OtherCatchup = None,
    grant: GrantOption = None,
    revision: Revision = None,
) -> None:
    """Change what is done, or how it is called; other work needs its own permission."""
    given: Json = {
        "title": title, "instructions": instructions, "mode": None if mode is None else mode.value,
        "overlap": None if overlap is None else overlap.value, "catchup_s": catchup, "grant_ref": grant,
    }  # fmt: skip
    fields = {name: value for name, value in given.items() if value is not None}
    if not fields:
        raise typer.BadParameter("name what to change.", param_hint="--title")
    await _write(invocation, "update", automation_id, revision, fields, "is changed")


@app.command("pause")
@command()
async def pause(invocation: Invocation, automation_id: AutomationId, revision: Revision = None) -> None:
    """Let none of its times fire; a task that runs goes on."""
    await _write(invocation, "pause", automation_id, revision, {}, "is paused")


@app.command("resume")
@command()
async def resume(invocation: Invocation, automation_id: AutomationId, revision: Revision = None) -> None:
    """Let its times fire again, from now on."""
    await _write(invocation, "resume", automation_id, revision, {}, "is active")


@app.command("trigger")
@command()
async def trigger(invocation: Invocation, automation_id: AutomationId, revision: Revision = None) -> None:
    """Fire now, beside its times."""
    from host.cli.automation_words import run_words
    from host.cli.printing import write

    automation = await _write(invocation, "trigger", automation_id, revision, {}, None)
    run = next(iter(automation["runs"]), None)
    if not invocation.as_json:
        task = f": {run['task_id']}" if run is not None and "task_id" in run else ""
        write(f"{automation_id}: {run_words(run)}{task}")


@app.command("delete")
@command()
async def delete(invocation: Invocation, automation_id: AutomationId, revision: Revision = None) -> None:
    """Delete it; a task that runs goes on."""
    await _write(invocation, "delete", automation_id, revision, {}, "is deleted")


async def _write(
    invocation: Invocation, act: str, automation_id: str, revision: int | None, fields: Json, done: str | None
) -> Json:
    from host.cli.automation_words import automation_of
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    async with connected(invocation.settings()) as client:
        expected = revision or (await automation_of(client, automation_id))["revision"]
        wanted = {"automation_id": automation_id, "expected_revision": expected, **fields}
        automation = await client.call(f"agents.automations.{act}", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(automation)
    elif done is not None:
        write(f"{automation_id} {done}.")
    return automation
