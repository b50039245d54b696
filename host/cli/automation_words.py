"""Automations as a terminal shows them, and a schedule as its options spell it (O4, U8, U9)."""

from collections.abc import Mapping
from typing import Any

import typer

from host.cli.automation_times import named_time, time_in, zone_of
from host.cli.grant_words import lifetime_s
from host.cli.printing import local_time, print_fields, print_heading, print_table, shown, write
from host.cli.rpc_client import RpcClient

Json = dict[str, Any]
COLUMNS = ("automation", "state", "title", "when", "next", "last")


def schedule_of_options(cron: str | None, every: str | None, at: str | None, timezone: str | None) -> Json:
    """The schedule that options spell out; whether it is one, the host says.

    Raises:
        BadParameter: not exactly one kind is named, or an interval is none.
    """
    if sum(given is not None for given in (cron, every, at)) != 1:
        raise typer.BadParameter("name exactly one of --cron, --every and --at.", param_hint="--cron")
    zone = {} if timezone is None else {"timezone": timezone}
    if cron is not None:
        return {"cron": {"expression": cron}, **zone}
    if at is not None:
        return {"once": {"at": at}, **zone}
    seconds = lifetime_s(every or "")
    if seconds is None:
        raise typer.BadParameter("a number with s, m, h or d, as 900, 15m or 6h.", param_hint="--every")
    return {"every": {"seconds": seconds}, **zone}


async def automation_of(client: RpcClient, automation_id: str) -> Json:
    """One automation with everything about it.

    Raises:
        Refused: `not_found`.
    """
    return await client.call("agents.automations.get", {"automation_id": automation_id})


def row(automation: Json) -> tuple[object, ...]:
    """One line of the list."""
    return (
        automation["automation_id"],
        state_words(automation),
        automation["title"],
        when(automation),
        named_time(automation, next(iter(automation["next_times"]), None)),
        run_words(next(iter(automation["runs"]), None)),
    )


def state_words(automation: Json) -> str:
    """How it stands, with why if it paused itself."""
    reason = automation.get("reason")
    return f"{automation['state']} ({reason})" if reason else str(automation["state"])


def when(automation: Json) -> str:
    """The schedule in words, or what is wrong with it (U8)."""
    if "error" in automation:
        return f"{automation['error']['code']}: {automation['error']['message']}"
    return str(automation["words"]["en"])


def run_words(run: Mapping[str, Any] | None) -> str | None:
    """What became of a firing; of many that are one record, how many."""
    if run is None:
        return None
    outcome = run.get("outcome") or run["state"]
    reason = f" ({run['reason']})" if run.get("reason") else ""
    count = f" x{run['count']}" if run["count"] > 1 else ""
    return f"{outcome}{reason}{count}"


def print_automation(automation: Json) -> None:
    """Show everything about one automation."""
    grant = automation["grant"]
    print_fields(
        {
            "automation": automation["automation_id"],
            "title": automation["title"],
            "state": state_words(automation),
            "when": when(automation),
            "does": automation["instructions"],
            "mode": automation["mode"],
            "agent": automation["agent_id"],
            "engine": automation["engine"],
            "permission": automation["permission_mode"],
            "overlap": automation["overlap"],
            "catch-up": f"{automation['catchup_s']} s",
            "grant": None
            if grant is None
            else f"{grant['ref']} ({grant['state']}, until {local_time(grant['expires_at'])})",
            "task": automation.get("task_id"),
            "revisions": f"{automation['revision']}, of what is done {automation['binding_revision']}, "
            f"of when {automation['schedule_revision']}",
        }
    )
    zone = zone_of(automation)
    if automation["next_times"]:
        print_heading(f"Next, {zone}")
        print_times(automation)
    if automation["runs"]:
        print_heading("Last")
        runs = automation["runs"]
        print_table(
            (f"time, {zone}", "what became of it", "why it fired", "task"),
            [(time_in(zone, run["nominal_time"]), run_words(run), run["cause"], run.get("task_id")) for run in runs],
        )


def print_times(schedule: Json) -> None:
    """The times to come, one below the other, in the schedule's own zone."""
    for time in schedule["next_times"]:
        write(f"  {time_in(zone_of(schedule), time)}")


def print_schedule(schedule: Json) -> None:
    """A schedule before it is saved: in words, with its next times (U9)."""
    write(shown(schedule["words"]["en"], keep=""))
    write(f"Next, {zone_of(schedule)}:")
    print_times(schedule)
