"""Scenarios of news (N10): a window, one that quiet hours hold, and one that is sent to a browser."""

from collections.abc import Awaitable, Callable, Sequence

from temporalio.service import RPCError, RPCStatusCode

from contracts.names import attention_workflow
from store import push_subscriptions
from tests.conftest import Eventually
from tests.push_service import PushService
from tests.replay.scenario import Recorded, Scenario
from tests.replay.turn_scenarios import early_suggestion
from tests.workflows.rig import Rig
from tests.workflows.test_attention import news, prefer, quiet_now, states

WINDOW = {"aggregation_s": 1}


def recorded(rig: Rig, name: str, *, first_run: bool = False) -> Sequence[Recorded]:
    """The history of the twin's news."""
    return [Recorded(f"attention/{name}", attention_workflow(rig.scope.user_space, "twin"), first_run)]


async def announced(rig: Rig) -> None:
    """Wait until everything is announced and nothing is on its way."""

    async def is_sent() -> bool:
        found = await states(rig)
        return bool(found) and all(state == "sent" for state, _ in found)

    await Eventually()(is_sent, "the news is announced")


async def news_in_a_window(rig: Rig) -> Sequence[Recorded]:
    """Two events within a window are announced at its end."""
    await prefer(rig, **WINDOW)
    await news(rig)
    await news(rig)
    await announced(rig)
    return recorded(rig, "window")


async def news_in_quiet_hours(rig: Rig) -> Sequence[Recorded]:
    """News is held by quiet hours and announced when they are switched off."""
    await prefer(rig, quiet_hours=quiet_now())
    await news(rig)

    async def waits() -> bool:
        state: dict[str, str] = await rig.client.get_workflow_handle(
            attention_workflow(rig.scope.user_space, "twin")
        ).query("state")
        return state["state"] == "wait"

    await Eventually()(there(waits), "the workflow waits")
    await prefer(rig, quiet_hours={"enabled": False})
    await announced(rig)
    return recorded(rig, "quiet_hours")


async def news_to_a_browser(rig: Rig) -> Sequence[Recorded]:
    """A push that fails once is sent at the second attempt."""
    with PushService() as service:
        given = service.subscribe()
        async with rig.parts.database.write(rig.scope) as tx:
            await push_subscriptions.register(tx, given.endpoint, given.p256dh, given.auth, "owner")
        await news(rig)
        await Eventually()(lambda: bool(service.pushes), "the browser got its push")
        await announced(rig)
    return recorded(rig, "browser")


async def news_continued(rig: Rig) -> Sequence[Recorded]:
    """A workflow that is told often continues as new; the deadline is a row."""
    await prefer(rig, aggregation_s=6)
    await news(rig)
    handle = rig.client.get_workflow_handle(attention_workflow(rig.scope.user_space, "twin"))

    async def continued() -> bool:
        await handle.signal("look")
        started = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
        return bool(started.continued_execution_run_id)

    await Eventually()(there(continued), "the workflow has continued as new")
    await announced(rig)
    return recorded(rig, "continued", first_run=True)


def there(act: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
    """The same, false while the workflow is not there yet."""

    async def tried() -> bool:
        try:
            return await act()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False

    return tried


SCENARIOS = (
    Scenario(news_in_a_window),
    Scenario(news_in_quiet_hours),
    Scenario(news_to_a_browser, settings={"allow_insecure_push": True}),
    Scenario(news_continued, around=early_suggestion),
)
