"""An agent's news (N10): keeps the time of a window, of quiet hours and of what is to be sent. The rows decide.

The hard thing is a storm: signals say "there is something" and nothing else, several of them are one look, and a new
run begins before the history grows.
"""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.attention import AttentionActivities, AttentionNext, AttentionRef
    from contracts.search_attributes import STATE
    from workflows.activity_calls import on_host, shared
    from workflows.agent_loop import has_room


@workflow.defn(name="AttentionWorkflow")
class AttentionWorkflow:
    """Follows the news of one agent until nothing of it waits.

    Signal: `look` (a group was opened, or settings changed). Query: `state`.
    """

    @workflow.init
    def __init__(self, agent: AttentionRef) -> None:
        """Nothing is known yet."""
        self._look = False
        self._next = AttentionNext(state="idle")

    @workflow.signal
    def look(self) -> None:
        """Something changed."""
        self._look = True

    @workflow.query(description="What the agent's news waits for")
    def state(self) -> AttentionNext:
        """What was read last: no more than a count and the kind of the newest place."""
        return self._next

    @workflow.run
    async def run(self, agent: AttentionRef) -> str:
        """Look; send what is due, wait for what is not, end when there is nothing."""
        while True:
            self._look = False
            self._next = await shared(AttentionActivities.look, agent, summary="Read what is due")
            workflow.set_current_details(_details(self._next))
            if self._next.state == "send":
                await on_host(
                    AttentionActivities.send,
                    agent,
                    user_space=agent.user_space,
                    domain=agent.domain,
                    summary="Send to the channels that are due",
                )
            elif self._next.state == "wait":
                await self._until_due()
            elif not self._look:
                workflow.upsert_search_attributes([STATE.value_set("done")])
                return "done"
            if not has_room():
                workflow.continue_as_new(agent)

    async def _until_due(self) -> None:
        left = options.REREAD_AFTER
        if self._next.until is not None:
            left = max(self._next.until - workflow.now(), options.ATTENTION_AGAIN_AFTER)
        await self._told_within(left)

    async def _told_within(self, patience: timedelta) -> None:
        try:
            await workflow.wait_condition(lambda: self._look, timeout=patience, timeout_summary="Until it is due")
        except TimeoutError:
            return


def _details(upcoming: AttentionNext) -> str:
    if upcoming.state == "idle":
        return "Nothing waits."
    if upcoming.state == "send":
        return "Sending to channels."
    what = f"**{upcoming.count}** events wait" if upcoming.count else "Sends wait"
    return f"{what} until {upcoming.until}."
