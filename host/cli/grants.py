"""`steward grants list|issue|revoke` (O4, A7, A9-A11)."""

import sys
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Permissions for unattended work. Without a command: list.")

HolderId = Annotated[str, typer.Argument(metavar="TASK|AUTOMATION", help="A task's or an automation's id.")]
GrantRef = Annotated[str, typer.Argument(help="A grant, as in `steward grants list`.")]
Lifetime = Annotated[str, typer.Option("--lifetime", help="How long: 1h, 24h, 7d; at most 30d.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask back.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the audit.")]


@app.command("list")
@command()
async def list_grants(invocation: Invocation, limit: LIMIT = 50, cursor: CURSOR = None) -> None:
    """List grants, newest first, and what tasks ask for now."""
    from host.cli.grant_words import holder_words, until
    from host.cli.printing import print_heading, print_table
    from host.cli.rpc_client import connected

    wanted = {"limit": limit, "cursor": cursor}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.grants.list", {key: value for key, value in wanted.items() if value})
    print_page(
        page,
        ("grant", "state", "holder", "until", "what"),
        lambda grant: (grant["grant_ref"], grant["state"], holder_words(grant), until(grant), grant["words"]),
        as_json=invocation.as_json,
        nothing="No grants.",
    )
    asked = page.get("proposals", [])
    if asked and not invocation.as_json:
        print_heading("Asked for: steward grants issue TASK")
        print_table(("task", "what"), [(request["task_id"], request["words"]) for request in asked])


@app.command("issue")
@command()
async def issue(
    invocation: Invocation, holder_id: HolderId, lifetime: Lifetime = "24h", yes: Yes = False
) -> int | None:
    """Allow a task or an automation to act unattended: what it asks for, or what its instructions need."""
    from host.cli import grant_words
    from host.cli.printing import local_time, note, print_json, write
    from host.cli.rpc_client import connected
    from runtime.exit_codes import FAILED

    seconds = grant_words.lifetime_s(lifetime)
    if seconds is None:
        raise typer.BadParameter("a number with s, m, h or d, as 24h or 7d.", param_hint="--lifetime")
    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here; give --yes.", param_hint="--yes")
    async with connected(invocation.settings()) as client:
        proposal = await grant_words.proposal_of(client, holder_id)
        if not yes and not await _asked(proposal, seconds):
            note("Nothing was allowed.")
            return FAILED
        result = await grant_words.issue(client, proposal, seconds)
    if invocation.as_json:
        print_json(result)
    else:
        if yes:
            grant_words.print_proposal(proposal, seconds)
        write(f"{holder_id} is allowed until {local_time(result['expires_at'])}: {result['grant_ref']}")
    return None


@app.command("revoke")
@command()
async def revoke(invocation: Invocation, grant_ref: GrantRef, reason: Reason = None) -> None:
    """Take a grant back at once; what has started under it is not called back."""
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    wanted = {"grant_ref": grant_ref} | ({} if reason is None else {"reason": reason})
    async with connected(invocation.settings()) as client:
        result = await client.call("agents.grants.revoke", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(result)
    else:
        write(f"{grant_ref} is revoked.")


async def _asked(proposal: Json, seconds: int) -> bool:
    import asyncio

    from host.cli.grant_words import print_proposal

    print_proposal(proposal, seconds)
    return await asyncio.to_thread(typer.confirm, "Allow this?")
