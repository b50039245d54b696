"""A window of news survives the death of every process (N10), and one push comes out of it (N7, N9)."""

import json

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Json, RpcClient
from tests.blackbox.scripts import delegate, tool
from tests.blackbox.work import until_message
from tests.push_service import PushService

MARKER = "zqprivatezq"
WINDOW_S = 20


async def prepare(steward: Instance, service: PushService) -> str:
    """Switch a window on and subscribe a browser; its endpoint."""
    given = service.subscribe()
    keys = {"p256dh": given.p256dh, "auth": given.auth}

    async def tell(client: RpcClient) -> Json:
        revision = (await client.call("agents.settings.get"))["revision"]
        changes = {"expected_revision": revision, "changes": {"aggregation_s": WINDOW_S}}
        await client.call("agents.settings.update", changes, request_id="window")
        return await client.answer("device/push/register", {"endpoint": given.endpoint, "keys": keys})

    assert "result" in await steward.ask(tell)
    return given.endpoint


async def test_a_window_survives_kills_and_becomes_one_push(start_steward: StartSteward) -> None:
    """N3, N7, N9, N10, I9: the result of a task, SIGKILL of worker, host and Temporal inside of the window."""
    with PushService() as service:
        async with start_steward("attention", STEWARD_ALLOW_INSECURE_PUSH="1") as steward:
            endpoint = await prepare(steward, service)
            script = tool("submit_result", summary=f"{MARKER} result")
            await steward.send(delegate(f"{MARKER} title", script), "news:1")
            message = await until_message(steward, origin="delivery", text=f"echo: {MARKER} result")
            assert service.pushes == [], "the point was missed: the window has ended"
            for process in ("worker", "host", "temporal"):
                steward.kill(process)
            await steward.until(lambda: bool(service.pushes), "the browser got its push", within_s=120)
            await steward.until(steward.is_ready, "everything is there again", within_s=120)
            [push] = service.pushes
            place = json.loads(push.payload)["locator"]
            assert place == {"kind": "message", "session_id": message["session_id"], "seq": message["seq"]}
            assert MARKER.encode() not in push.payload
            printed = steward.printed()
            assert MARKER not in printed
            assert endpoint not in printed
    assert service.refusals == []
