"""Hints to waiting workflows (T18): signals sent after a commit, repeated with the activity that sends them.

A hint carries ids at most. A workflow that has closed, or was never started, needs none: the rows are the truth.
"""

from typing import Any

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from contracts.conversation import ConversationRef, TurnEnded
from contracts.names import delivery_workflow, task_workflow
from contracts.starting import WorkflowStart, conversation_start


class Hints:
    """Sends hints through a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def turn_ended(self, user_space: str, domain: str, turn_id: str) -> None:
        """Tell the conversation that a turn ended; it is started if it is not there."""
        start = conversation_start(ConversationRef(user_space=user_space, domain=domain))
        await self._client.start_workflow(
            start.workflow,
            start.argument,
            id=start.workflow_id,
            task_queue=start.task_queue,
            search_attributes=start.search_attributes,
            static_summary=start.summary,
            start_signal="turn_ended",
            start_signal_args=[TurnEnded(turn_id=turn_id)],
        )

    async def start(self, start: WorkflowStart) -> None:
        """Start a workflow that reports its end by a hint; one that runs already is left alone."""
        await self._client.start_workflow(
            start.workflow,
            start.argument,
            id=start.workflow_id,
            task_queue=start.task_queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            search_attributes=start.search_attributes,
            static_summary=start.summary,
        )

    async def delivery_settled(self, delivery_id: str) -> None:
        """Tell a delivery that its turn ended."""
        await self.tell(delivery_workflow(delivery_id), "settled")

    async def task_changed(self, task_id: str, signal: str) -> None:
        """Tell a task that its attempt or a delivery ended."""
        await self.tell(task_workflow(task_id), signal)

    async def told(self, workflow_id: str, signal: str) -> bool:
        """Signal a workflow; False when none runs under this id."""
        try:
            await self._client.get_workflow_handle(workflow_id).signal(signal)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    async def tell(self, workflow_id: str, signal: str, *arguments: Any) -> None:  # noqa: ANN401 - a signal's arguments
        """Signal a workflow if it runs."""
        try:
            await self._client.get_workflow_handle(workflow_id).signal(signal, args=arguments)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
