"""`agents.profiles.list|create|update|disable|delete`: the agents of the person (api.md)."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import LARGEST, Id, NoParams, Params
from host.services import Services
from store import agent_profiles, views
from store.agent_profiles import ProfileChange, Write
from store.tables_attention import AgentProfileRow
from store.tables_host import ReceiptRow

Revision = Annotated[int, Field(ge=0, le=LARGEST)]


class ProfileCreate(Params):
    """`agents.profiles.create`."""

    name: str
    instructions: str
    model: str | None = None


class ProfileUpdate(Params):
    """`agents.profiles.update`: what is not named stays; `enabled` takes a disabled agent back into work."""

    agent_id: Id
    expected_revision: Revision
    name: str | None = None
    instructions: str | None = None
    model: str | None = None
    enabled: bool | None = None


class ProfileOnly(Params):
    """`agents.profiles.disable|delete`."""

    agent_id: Id
    expected_revision: Revision


async def list_profiles(services: Services, _call: Call[NoParams]) -> Result:
    """All agents, twin first."""
    async with services.reading() as tx:
        return await agent_profiles.profiles_view(tx)


async def create(services: Services, call: Call[ProfileCreate]) -> Result:
    """Make an agent."""
    wanted = call.params
    async with services.admission(call) as tx:
        receipt, row = await agent_profiles.create(
            tx, wanted.name, wanted.instructions, wanted.model, _write(services, call)
        )
        return _answer(receipt, row)


async def update(services: Services, call: Call[ProfileUpdate]) -> Result:
    """Change an agent by its revision."""
    wanted = call.params
    change = ProfileChange(wanted.name, wanted.instructions, wanted.model, wanted.enabled)
    async with services.admission(call) as tx:
        receipt, row = await agent_profiles.update(
            tx, wanted.agent_id, wanted.expected_revision, change, _write(services, call)
        )
        return _answer(receipt, row)


async def disable(services: Services, call: Call[ProfileOnly]) -> Result:
    """Disable an agent: no new tasks, and none of its late news is announced (N12)."""
    wanted = call.params
    async with services.admission(call) as tx:
        receipt, row = await agent_profiles.disable(
            tx, wanted.agent_id, wanted.expected_revision, _write(services, call)
        )
        return _answer(receipt, row)


async def delete(services: Services, call: Call[ProfileOnly]) -> Result:
    """Delete an agent that has no task at work."""
    wanted = call.params
    async with services.admission(call) as tx:
        receipt = await agent_profiles.delete(tx, wanted.agent_id, wanted.expected_revision, _write(services, call))
        return {"receipt": views.receipt_view(receipt)}


def _answer(receipt: ReceiptRow, row: AgentProfileRow | None) -> Result:
    """The agent as it is now, and the receipt; of a request that is repeated after its deletion the receipt alone."""
    shown = {} if row is None else agent_profiles.profile_view(row)
    return shown | {"receipt": views.receipt_view(receipt)}


def _write(services: Services, call: Call[ProfileCreate] | Call[ProfileUpdate] | Call[ProfileOnly]) -> Write:
    settings = services.settings
    return Write(call.write_id, call.principal.id, settings.task_model or settings.model)


METHODS: Mapping[str, Method] = {
    "agents.profiles.list": Method(list_profiles, NoParams),
    "agents.profiles.create": Method(create, ProfileCreate, writes=True, local=True),
    "agents.profiles.update": Method(update, ProfileUpdate, writes=True, local=True),
    "agents.profiles.disable": Method(disable, ProfileOnly, writes=True, local=True),
    "agents.profiles.delete": Method(delete, ProfileOnly, writes=True, local=True),
}
