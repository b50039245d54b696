"""`steward automations list|show|create|reschedule|confirm` (O4, U1, U3, U8, U9)."""

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Work at set times. Without a command: list.")


class Mode(StrEnum):
    """What each firing is."""

    NEW = "new"
    CONTINUE = "continue"


class Overlap(StrEnum):
    """What a firing does while an earlier one runs."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    ALLOW = "allow"


AutomationId = Annotated[str, typer.Argument(help="An automation's id, as in `steward automations list`.")]
ProposalId = Annotated[str, typer.Argument(help="A proposal's id, as in `steward automations list`.")]
Title = Annotated[str, typer.Argument(help="A short name.")]
Instructions = Annotated[str, typer.Argument(help="What is to be done each time, in full.")]
CronOption = Annotated[str | None, typer.Option("--cron", help="Five fields, as “0 8 * * 1-5”; needs --timezone.")]
EveryOption = Annotated[str | None, typer.Option("--every", help="An interval: 900 (seconds), 15m, 6h.")]
AtOption = Annotated[str | None, typer.Option("--at", help="One time: 2027-03-01T08:00 with --timezone, or …+01:00.")]
ZoneOption = Annotated[str | None, typer.Option("--timezone", help="An IANA zone, such as Europe/Berlin.")]
ModeOption = Annotated[Mode, typer.Option("--mode", help="A new task each time, or go on with the same one.")]
OverlapOption = Annotated[Overlap, typer.Option("--overlap", help="While an earlier one still runs.")]
CatchupOption = Annotated[int, typer.Option("--catchup", help="Seconds within which a missed time is made up for.")]
AgentOption = Annotated[str, typer.Option("--agent", help="Who does it.")]
GrantOption = Annotated[str | None, typer.Option("--grant", help="A permission that nothing holds yet.")]
Revision = Annotated[
    int | None, typer.Option("--revision", min=1, help="The revision that was seen; another one is refused.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask back.")]


@app.command("list")
@command()
async def list_automations(invocation: Invocation, limit: LIMIT = 50, cursor: CURSOR = None) -> None:
    """List automations, newest first, with their next times, and what is proposed."""
    from host.cli.automation_times import named_time
    from host.cli.automation_words import COLUMNS, row
    from host.cli.printing import print_heading, print_table
    from host.cli.rpc_client import connected

    wanted = {"limit": limit, "cursor": cursor}
    async with connected(invocation.settings()) as client:
        page = await client.call("agents.automations.list", {key: value for key, value in wanted.items() if value})
    print_page(page, COLUMNS, row, as_json=invocation.as_json, nothing="No automations.")
    proposals = page.get("proposals", [])
    if proposals and not invocation.as_json:
        print_heading("Proposed: steward automations confirm PROPOSAL")
        print_table(
            ("proposal", "what", "when", "next"),
            [
                (one["proposal_id"], one["title"], one["words"]["en"], named_time(one, one["next_times"][0]))
                for one in proposals
            ],
        )


@app.command("show")
@command()
async def show(invocation: Invocation, automation_id: AutomationId) -> None:
    """Show one automation: what it does, when, and what became of its last times."""
    from host.cli.automation_words import automation_of, print_automation
    from host.cli.printing import print_json
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        automation = await automation_of(client, automation_id)
    if invocation.as_json:
        print_json(automation)
    else:
        print_automation(automation)


@app.command("create")
@command()
async def create(
    invocation: Invocation,
    title: Title,
    instructions: Instructions,
    cron: CronOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    timezone: ZoneOption = None,
    mode: ModeOption = Mode.NEW,
    overlap: OverlapOption = Overlap.SKIP,
    catchup: CatchupOption = 3600,
    agent: AgentOption = "twin",
    grant: GrantOption = None,
    yes: Yes = False,
) -> int | None:
    """Have work done at set times, after a look at the next of them."""
    from host.cli.automation_words import schedule_of_options

    fields = {
        "title": title, "schedule": schedule_of_options(cron, every, at, timezone), "mode": mode.value,
        "overlap": overlap.value, "catchup_s": catchup, "agent_id": agent,
        **({} if grant is None else {"grant_ref": grant}),
    }  # fmt: skip
    return await _scheduled(invocation, "agents.automations.create", fields, yes=yes, said={"text": instructions})


@app.command("reschedule")
@command()
async def reschedule(
    invocation: Invocation,
    automation_id: AutomationId,
    cron: CronOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    timezone: ZoneOption = None,
    revision: Revision = None,
    yes: Yes = False,
) -> int | None:
    """Give the same automation other times, after a look at the next of them."""
    from host.cli.automation_words import schedule_of_options

    fields: Json = {"automation_id": automation_id, "schedule": schedule_of_options(cron, every, at, timezone)}
    if revision is not None:
        fields["expected_revision"] = revision
    return await _scheduled(invocation, "agents.automations.reschedule", fields, yes=yes)


@app.command("confirm")
@command()
async def confirm(invocation: Invocation, proposal_id: ProposalId, yes: Yes = False) -> int | None:
    """Make a proposed schedule real, after a look at its next times."""
    from domain.refusal import refuse
    from host.cli.printing import note, print_json, shown, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id
    from runtime.exit_codes import FAILED

    _check_asking(yes)
    async with connected(invocation.settings()) as client:
        proposals = (await client.call("agents.automations.list", {"limit": 1}))["proposals"]
        proposal = next((one for one in proposals if one["proposal_id"] == proposal_id), None)
        if proposal is None:
            raise refuse("not_found", "No such open proposal.")
        if not yes:
            write(shown(f"{proposal['title']}: {proposal.get('instructions', 'other times')}", keep=""))
            if not await _asked(proposal):
                note("Nothing was saved.")
                return FAILED
        wanted = {"proposal_id": proposal_id}
        made = await client.call("agents.automations.confirm", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(made)
    else:
        _print_saved(made)
    return None


async def _scheduled(
    invocation: Invocation, method: str, fields: Json, *, yes: bool, said: Json | None = None
) -> int | None:
    """Show a schedule, ask, and save it; the revision of an automation is the newest unless it was named."""
    from host.cli.automation_words import automation_of
    from host.cli.printing import note, print_json
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id
    from runtime.exit_codes import FAILED

    _check_asking(yes)
    async with connected(invocation.settings()) as client:
        preview = await client.call("agents.automations.preview", {"schedule": fields["schedule"]})
        if not yes and not await _asked(preview):
            note("Nothing was saved.")
            return FAILED
        if "automation_id" in fields and "expected_revision" not in fields:
            fields["expected_revision"] = (await automation_of(client, fields["automation_id"]))["revision"]
        made = await client.call(method, fields, request_id=new_request_id(), user_input=said)
    if invocation.as_json:
        print_json(made)
    else:
        _print_saved(made)
    return None


def _print_saved(automation: Json) -> None:
    from host.cli.automation_words import print_schedule
    from host.cli.printing import write

    write(f"{automation['automation_id']} is {automation['state']}:")
    print_schedule(automation)


def _check_asking(yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here; give --yes.", param_hint="--yes")


async def _asked(schedule: Json) -> bool:
    import asyncio

    from host.cli.automation_words import print_schedule

    print_schedule(schedule)
    return await asyncio.to_thread(typer.confirm, "Save this schedule?")
