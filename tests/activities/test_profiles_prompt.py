"""An agent's standing instructions reach the executor as a section of their own (api.md `agents.profiles`)."""

from activities.run_context import model_call
from assistant.prompts import EXECUTOR_SYSTEM
from domain.run import RunRef
from tests.attention_acts import agent
from tests.control_plane import Plane


async def system_of(plane: Plane, run: RunRef) -> str:
    async with plane.database.read(plane.scope) as tx:
        return (await model_call(tx, run, [], 24_000)).context.system


async def test_an_executor_is_told_what_its_agent_is(plane: Plane) -> None:
    """The rules come first and stay whole; another agent's task, and a turn, are told nothing of it."""
    aide = await agent(plane, "Aide", "Write {short} sentences.")
    system = await system_of(plane, await plane.attempt(agent_id=aide))
    assert system.startswith(EXECUTOR_SYSTEM)
    assert "<agent_instructions>\nWrite {short} sentences.\n</agent_instructions>" in system
    assert await system_of(plane, await plane.attempt()) == EXECUTOR_SYSTEM
    assert "Write {short}" not in await system_of(plane, await plane.turn())
