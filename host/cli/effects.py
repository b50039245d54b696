"""`steward effects list|show|settle` (E13, E20)."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="What was to be changed, and what became of it. Without a command: list.")
SEARCHED_PAGES = 20
PAGE = 100

EffectId = Annotated[str, typer.Argument(help="An effect's id, as in `steward effects list`.")]
TaskId = Annotated[str | None, typer.Option("--task", help="Only effects of this task.")]
Found_ = 0
Note = Annotated[str, typer.Option("--note", help="What you found, for the audit.")]


class State(StrEnum):
    """States to list."""

    PROPOSED = "proposed"
    WAITING_AUTHORIZATION = "waiting_authorization"
    WAITING_DECISION = "waiting_decision"
    CLAIMED = "claimed"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    WITHDRAWN = "withdrawn"
    REFUSED = "refused"


class Outcome(StrEnum):
    """What a person may have found."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


Found = Annotated[Outcome, typer.Argument(help="succeeded: it happened; failed: it did not.")]


@app.command("list")
@command()
async def list_effects(
    invocation: Invocation,
    task: TaskId = None,
    state: Annotated[State | None, typer.Option("--state", help="Only effects in this state.")] = None,
    limit: LIMIT = 50,
    cursor: CURSOR = None,
) -> None:
    """List effects, newest first."""
    from host.cli.printing import local_time
    from host.cli.rpc_client import connected

    wanted = {"task_id": task, "state": None if state is None else state.value, "limit": limit, "cursor": cursor}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.effects.list", {key: value for key, value in wanted.items() if value})
    print_page(
        page,
        ("effect", "state", "proposed", "what", "task or reply"),
        lambda effect: (
            effect["effect_id"], _state(effect), local_time(effect["created_at"]), effect["words"],
            effect.get("task_id") or effect.get("turn_id"),
        ),
        as_json=invocation.as_json,
        nothing="No effects.",
    )  # fmt: skip


@app.command("show")
@command()
async def show(invocation: Invocation, effect_id: EffectId) -> None:
    """Show an effect with its whole trail, from the proposal to the outcome."""
    from host.cli.printing import local_time, print_fields, print_json, print_table, shown, write
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        effect = await _find(client, effect_id)
    if invocation.as_json:
        print_json(effect)
        return
    write(shown(effect["words"], keep=""))
    print_fields(
        {
            "effect": effect_id,
            "state": _state(effect),
            "task": effect.get("task_id"),
            "reply": effect.get("turn_id"),
            "card": effect.get("approval_id"),
            "digest": effect["action_digest"],
        }
    )
    write("")
    print_table(
        ("step", "verdict", "why", "at"),
        [(entry["step"], entry["verdict"], entry.get("code"), local_time(entry["at"])) for entry in effect["trail"]],
    )


@app.command("settle")
@command()
async def settle(invocation: Invocation, effect_id: EffectId, outcome: Found, note: Note = "") -> None:
    """Say what became of an effect whose outcome is unknown; it is never run again."""
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    wanted = {"effect_id": effect_id, "outcome": outcome.value, "note": note}
    async with connected(invocation.settings()) as client:
        effect = await client.call("agents.effects.settle", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(effect)
    else:
        write(f"{effect_id} is {effect['state']}, by your word.")


async def _find(client: Any, effect_id: str) -> Json:  # noqa: ANN401 - an `RpcClient`, imported when it is needed
    """Look for an effect among the newest: they are only listed."""
    from domain.refusal import refuse

    cursor = None
    for _ in range(SEARCHED_PAGES):
        wanted = {"limit": PAGE} | ({"cursor": cursor} if cursor else {})
        page = await client.call("agents.effects.list", wanted)
        for effect in page["items"]:
            if effect["effect_id"] == effect_id:
                return dict(effect)
        cursor = page["next_cursor"]
        if not cursor:
            break
    raise refuse("not_found", f"No such effect among the newest {SEARCHED_PAGES * PAGE}. See steward tasks show.")


def _state(effect: Json) -> str:
    return f"{effect['state']} ({effect['reason']})" if effect.get("reason") else str(effect["state"])
