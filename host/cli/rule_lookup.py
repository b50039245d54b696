"""Finding a rule in the pages of the list: the wire contract has no method for one."""

from domain.refusal import refuse
from host.cli.rpc_client import RpcClient


async def revision_of(client: RpcClient, rule_id: str) -> int:
    """The present revision of a rule.

    Raises:
        Refused: `not_found`.
    """
    wanted: dict[str, object] = {"limit": 100}
    while True:
        page = await client.call("agents.rules.list", wanted)
        for rule in page["items"]:
            if rule["rule_id"] == rule_id:
                return int(rule["revision"])
        if not page["next_cursor"]:
            raise refuse("not_found", "No such rule.")
        wanted["cursor"] = page["next_cursor"]
