"""`steward rules list|preview|save|update|delete` (O4, E5-E7)."""

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Standing decisions on exactly described actions. Without a command: list.")


class Mode(StrEnum):
    """What a rule says."""

    ALLOW = "allow"
    ASK = "ask"


CardId = Annotated[str, typer.Argument(help="The card of an action to make a rule of, as in `steward approvals list`.")]
RuleId = Annotated[str, typer.Argument(help="A rule's id, as in `steward rules list`.")]
NewMode = Annotated[Mode, typer.Option("--mode", help="Go on without asking, or ask every time.")]
OtherMode = Annotated[Mode | None, typer.Option("--mode", help="Go on without asking, or ask every time.")]
Pause = Annotated[bool | None, typer.Option("--pause/--resume", help="Take it out of force for a while, or back.")]
Revision = Annotated[
    int | None, typer.Option("--revision", min=1, help="The revision that was seen; another one is refused.")
]
Digest = Annotated[str | None, typer.Option("--digest", help="Digest of the scope that was seen in a preview.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask back.")]


@app.command("list")
@command()
async def list_rules(invocation: Invocation, limit: LIMIT = 50, cursor: CURSOR = None) -> None:
    """List the rules, newest first."""
    from host.cli.rpc_client import connected

    wanted = {"limit": limit, "cursor": cursor}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.rules.list", {key: value for key, value in wanted.items() if value})
    print_page(
        page,
        ("rule", "says", "revision", "about"),
        lambda rule: (rule["rule_id"], _says(rule), rule["revision"], rule["words"]),
        as_json=invocation.as_json,
        nothing="No rules.",
    )


@app.command("preview")
@command()
async def preview(invocation: Invocation, approval_id: CardId) -> None:
    """Show what a rule made of a card would cover; nothing is saved."""
    from host.cli.printing import print_json
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        scope = await client.call("agents.rules.preview", {"approval_id": approval_id})
    if invocation.as_json:
        print_json(scope)
    else:
        _print_scope(scope)


@app.command("save")
@command()
async def save(
    invocation: Invocation, approval_id: CardId, mode: NewMode = Mode.ALLOW, yes: Yes = False, digest: Digest = None
) -> int | None:
    """Decide a card's kind of action from now on, after a look at the scope; the card itself still waits."""
    from host.cli.printing import note, print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id
    from runtime.exit_codes import FAILED

    seen = yes or digest is not None
    if not seen and not sys.stdin.isatty():
        words = "nobody can be asked here; give --yes, or --digest of the scope that was seen."
        raise typer.BadParameter(words, param_hint="--yes")
    async with connected(invocation.settings()) as client:
        scope = await client.call("agents.rules.preview", {"approval_id": approval_id})
        if not seen and not await _asked(scope, mode):
            note("Nothing was saved.")
            return FAILED
        wanted = {"approval_id": approval_id, "scope_digest": digest or scope["scope_digest"], "mode": mode.value}
        rule = await client.call("agents.rules.save", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(rule)
    else:
        write(f"{rule['rule_id']} says {_says(rule)}. The card still waits for its own decision.")
    return None


@app.command("update")
@command()
async def update(
    invocation: Invocation, rule_id: RuleId, mode: OtherMode = None, pause: Pause = None, revision: Revision = None
) -> None:
    """Switch a rule between allow and ask, pause it, or put it back in force."""
    changes: dict[str, Any] = {} if mode is None else {"mode": mode.value}
    if pause is not None:
        changes |= {"paused": pause}
    if not changes:
        raise typer.BadParameter("name what to change: --mode, --pause or --resume.", param_hint="--mode")
    rule = await _write(invocation, "agents.rules.update", rule_id, revision, changes)
    if not invocation.as_json:
        from host.cli.printing import write

        write(f"{rule_id} says {_says(rule)}.")


@app.command("delete")
@command()
async def delete(invocation: Invocation, rule_id: RuleId, revision: Revision = None) -> None:
    """Delete a rule; what it allowed and has not started is asked about."""
    await _write(invocation, "agents.rules.delete", rule_id, revision, {})
    if not invocation.as_json:
        from host.cli.printing import write

        write(f"{rule_id} is deleted.")


async def _write(
    invocation: Invocation, method: str, rule_id: str, revision: int | None, changes: dict[str, Any]
) -> Json:
    from host.cli.printing import print_json
    from host.cli.rpc_client import connected
    from host.cli.rule_lookup import revision_of
    from host.cli.sending import new_request_id

    async with connected(invocation.settings()) as client:
        expected = revision or await revision_of(client, rule_id)
        wanted = {"rule_id": rule_id, "expected_revision": expected, **changes}
        rule = await client.call(method, wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(rule)
    return rule


def _says(rule: Json) -> str:
    return f"{rule['mode']} (paused)" if rule["paused"] else str(rule["mode"])


def _print_scope(scope: Json) -> None:
    from host.cli.printing import print_fields, shown, write

    write(shown(scope["words"], keep=""))
    print_fields({**scope["scope"], "digest": scope["scope_digest"]})


async def _asked(scope: Json, mode: Mode) -> bool:
    import asyncio

    _print_scope(scope)
    question = "Always allow exactly this, without asking?" if mode is Mode.ALLOW else "Always ask about exactly this?"
    return await asyncio.to_thread(typer.confirm, question)
