"""`steward audit list|verify` (O4, A14)."""

from datetime import datetime
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Every decision, and whether its record is whole. Without a command: list.")

Since = Annotated[
    datetime | None,
    typer.Option(
        "--since",
        formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"],
        help="Only decisions since then; this machine's zone where none is named.",
    ),
]
Kind = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help="This kind, and those below it: effect covers effect.gate.")
]


@app.command("list")
@command()
async def list_decisions(
    invocation: Invocation, since: Since = None, kind: Kind = None, limit: LIMIT = 50, cursor: CURSOR = None
) -> None:
    """List decisions, newest first."""
    from host.cli.printing import local_time
    from host.cli.rpc_client import connected

    at = None if since is None else since.astimezone().isoformat()
    params = {"limit": limit, "cursor": cursor, "kind": kind, "since": at}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.audit.list", {key: value for key, value in params.items() if value})
    print_page(
        page,
        ("no", "when", "kind", "verdict", "why", "who", "about"),
        lambda row: (
            row["sequence"], local_time(row["at"]), row["kind"], row["verdict"], row.get("code"), row["principal"],
            row["subject_id"],
        ),
        as_json=invocation.as_json,
        nothing="No decisions.",
    )  # fmt: skip


@app.command("verify")
@command()
async def verify(invocation: Invocation) -> int:
    """Check the chain of all decisions, from the first to the last; the host may run or not."""
    from host.cli.audit_verification import say, verification
    from host.cli.printing import print_json, write
    from runtime.exit_codes import DONE, FAILED

    found = await verification(invocation.settings())
    if invocation.as_json:
        print_json(found)
    else:
        write(say(found))
    return DONE if found["holds"] else FAILED
