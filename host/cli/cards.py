"""Shows approval cards and decides them: exactly the action that was shown, by version and digest (E9, E10)."""

import json
from typing import Any, Final

from host.cli.printing import print_fields, shown, write
from host.cli.rpc_client import RpcClient
from host.cli.sending import new_request_id

Json = dict[str, Any]
NOT_CONFINED: Final = "!!! NOT CONFINED !!!"
"""Its own line, so that it is not read over (E16); what that means is said by the card's impact."""


async def get_card(client: RpcClient, approval_id: str) -> Json:
    """Return a card with its details.

    Raises:
        Refused: `not_found`.
    """
    return await client.call("agents.approvals.get", {"approval_id": approval_id})


def print_card(card: Json) -> None:
    """Show what will happen, what it changes, and the exact change."""
    write(shown(card["words"], keep=""))
    if card.get("confined") is False:
        write(NOT_CONFINED)
    write(shown(card["impact"], keep=""))
    print_fields(
        {
            "card": card["approval_id"],
            "state": card["state"] if "reason" not in card else f"{card['state']} ({card['reason']})",
            "task": card.get("task_id"),
            "reply": card.get("turn_id"),
            "expires": card.get("expires_at"),
            "digest": card["action_digest"],
            "automatic review": _review(card.get("review", {})),
        }
    )
    details = card.get("details", {})
    exact = details.get("diff") or details.get("command")
    if exact:
        write(f"\n{shown(exact)}")
    elif "connector" in details:
        write("")
        print_fields({name: _field(value) for name, value in details["connector"].items()})


def _review(review: Json) -> str | None:
    """What the reviewing model said (E8), quoted, because its words are not Steward's."""
    if not review:
        return None
    return f"{review['verdict']} - “{review['reason']}”" if "reason" in review else str(review["verdict"])


def _field(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def decide(client: RpcClient, card: Json, decision: str, digest: str | None = None) -> Json:
    """Decide a card as it was shown.

    Args:
        client: A connected client.
        card: As it was shown.
        decision: `allow_once` or `deny`.
        digest: The action's digest that the person has seen elsewhere, instead of the card's own.

    Raises:
        Refused: When another version or action is pending by now, or the card is not pending any more.
    """
    params = {
        "approval_id": card["approval_id"],
        "version": card["version"],
        "action_digest": digest or card["action_digest"],
        "decision": decision,
    }
    return await client.call("agents.approvals.decide", params, request_id=new_request_id())
