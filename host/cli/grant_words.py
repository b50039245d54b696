"""Permissions for unattended work as a terminal shows them, and the two steps of giving one: look, then issue (A11)."""

import re
from typing import Any, Final

from host.cli.printing import local_time, print_fields, shown, write
from host.cli.rpc_client import RpcClient
from host.cli.sending import new_request_id

Json = dict[str, Any]
DEFAULT_LIFETIME_S: Final = 24 * 3600
PAGE: Final = 100
_UNITS_S: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


def lifetime_s(text: str) -> int | None:
    """Read a lifetime, as `24h`, `7d`, `90m` or a number of seconds; None for what is none."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text.strip().lower())
    return None if found is None else int(found[1]) * _UNITS_S[found[2]]


def lifetime_words(seconds: int) -> str:
    """Say a lifetime in the largest unit that fits."""
    for unit, size in (("day", 24 * 3600), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds % size == 0 and (seconds > size or unit != "day"):
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"


async def proposal_of(client: RpcClient, holder_id: str) -> Json:
    """Return what a task or an automation would have to be allowed; asking grants nothing (A11).

    Raises:
        Refused: `not_found`.
    """
    kind = "automation_id" if holder_id.startswith("automation_") else "task_id"
    return await client.call("agents.grants.propose", {kind: holder_id}, request_id=new_request_id())


async def requests(client: RpcClient) -> list[Json]:
    """What tasks ask to be allowed now, newest first."""
    return list((await client.call("agents.grants.list", {"limit": PAGE})).get("proposals", []))


async def issue(client: RpcClient, proposal: Json, seconds: int) -> Json:
    """Allow what was shown, for a while (A7).

    Raises:
        Refused: `authorization_requirement_mismatch` when the request is closed by now; `invalid_params` for the
            lifetime; what the authorization provider says.
    """
    wanted = {"proposal_id": proposal["proposal_id"], "lifetime_s": seconds}
    return await client.call("agents.grants.issue", wanted, request_id=new_request_id())


def print_proposal(proposal: Json, seconds: int) -> None:
    """Show what would be allowed, in words first, then the exact bounds (A11)."""
    bounds = proposal["bounds"]
    write(shown(proposal["words"], keep=""))
    print_fields(
        {
            "task": proposal.get("task_id"),
            "automation": proposal.get("automation_id"),
            "for": lifetime_words(seconds),
            "actions": ", ".join(bounds["actions"]),
            "on": ", ".join(resource["value"] for resource in bounds["resources"]),
            "model": ", ".join(bounds["models"]),
            "engine": ", ".join(bounds["engines"]),
        }
    )


def holder_words(grant: Json) -> str:
    """Say who holds a grant."""
    holder = grant["holder"]
    return str(holder.get("task_id") or holder.get("automation_id") or "nobody yet")


def until(grant: Json) -> str | None:
    """When a grant ends, or was taken back."""
    return local_time(grant.get("revoked_at") or grant["expires_at"])
