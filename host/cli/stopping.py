"""Stops a task and follows the stop to its end (S1-S3): it is effective at once, its end may take longer."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from host.cli.printing import note
from host.cli.reconnecting import reconnecting
from host.cli.rpc_client import RpcClient, connected
from host.cli.sending import new_request_id
from runtime.settings import Settings

Json = dict[str, Any]
LOOK_AGAIN_S: Final = 1.0
"""A stop that moves on says so; this is for one that moved on between the reading and the listening."""

OUTCOMES: Final = {
    "stopped": "Stopped. Nothing of it runs any more.",
    "already_terminal": "It had already ended. Its undelivered replies were cancelled.",
    "nothing_to_stop": "There was nothing left to stop.",
}


async def stop_task(settings: Settings, task_id: str, *, wait: bool) -> Json:
    """Stop a task; returns what `agents.tasks.stop` does, after the stop's end where `wait`.

    Raises:
        Refused: `not_found`.
        Unreachable: When the stop was not accepted, or the host stays away for a minute afterwards.
    """
    following = _Following(task_id, new_request_id())
    if not wait:
        async with connected(settings) as client:
            return await following.accept(client)
    try:
        return await reconnecting(settings, following.until_done, begun=lambda: following.accepted, lost=_lost)
    except asyncio.CancelledError:
        if following.accepted:
            note(f"\nThe stop goes on: steward tasks show {task_id}")
        raise


def _lost() -> None:
    note("The connection to the host is lost; trying again ...")


@dataclass
class _Following:
    task_id: str
    request_id: str
    accepted: bool = False
    _told: str = ""

    async def accept(self, client: RpcClient) -> Json:
        answer = await client.call("agents.tasks.stop", {"task_id": self.task_id}, request_id=self.request_id)
        self.accepted = True
        return answer

    async def until_done(self, client: RpcClient) -> Json:
        answer = await self.accept(client)
        intent: Json = answer["intent"]
        while intent["state"] != "done":
            self._tell(await _still_running(client, intent))
            await _next_change(client)
            intent = (await client.call("agents.intents.get", {"intent_id": intent["intent_id"]}))["intent"]
        return answer | {"intent": intent}

    def _tell(self, running: int) -> None:
        words = {0: "its replies are withdrawn", 1: "1 task is still running"}.get(
            running, f"{running} tasks are still running"
        )
        if words != self._told:
            self._told = words
            note(f"Stopping: {words} ...")


async def _still_running(client: RpcClient, intent: Json) -> int:
    stopping = (await client.call("agents.tasks.list", {"state": "stopping", "limit": 100}))["items"]
    return sum(task["task_id"] in intent["covered"] for task in stopping)


async def _next_change(client: RpcClient) -> None:
    try:
        async with asyncio.timeout(LOOK_AGAIN_S):
            while (await client.event())["topic"] not in ("tasks", "activity"):
                pass
    except TimeoutError:
        return
