"""`steward profiles list|create|update|disable|delete`: the agents of the person (api.md `agents.profiles`, N12)."""

from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(
    cls=ListByDefault, help="Agents: who does your tasks, and whose news you are told. Without a command: list."
)

AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="An agent's id, as in `steward profiles list`.")]
Name = Annotated[str, typer.Argument(help="What it is called.")]
Instructions = Annotated[str, typer.Option("--instructions", help="What it is told with each of its tasks.")]
Model = Annotated[str | None, typer.Option("--for-model", help="The model of its tasks; it has to be this host's.")]
OtherName = Annotated[str | None, typer.Option("--name", help="What it is called.")]
OtherInstructions = Annotated[
    str | None, typer.Option("--instructions", help="What it is told with each of its tasks.")
]
Enable = Annotated[bool | None, typer.Option("--enable/--disable", help="Whether it is given tasks and is heard of.")]
Revision = Annotated[
    int | None, typer.Option("--revision", min=0, help="The revision that was seen; another one is refused.")
]


@app.command("list")
@command()
async def list_profiles(invocation: Invocation) -> None:
    """List the agents, twin first."""
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        page = await client.call("agents.profiles.list", {})
    print_page(
        page,
        ("agent", "name", "state", "revision", "instructions"),
        lambda agent: (agent["agent_id"], agent["name"], _state(agent), agent["revision"], agent["instructions"]),
        as_json=invocation.as_json,
        nothing="No agents.",
    )


@app.command("create")
@command()
async def create(invocation: Invocation, name: Name, instructions: Instructions = "", model: Model = None) -> None:
    """Make an agent."""
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    wanted = {"name": name, "instructions": instructions, **({} if model is None else {"model": model})}
    async with connected(invocation.settings()) as client:
        agent = await client.call("agents.profiles.create", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(agent)
    else:
        write(f"{agent['agent_id']} is made.")


@app.command("update")
@command()
async def update(
    invocation: Invocation,
    agent_id: AgentId,
    name: OtherName = None,
    instructions: OtherInstructions = None,
    enable: Enable = None,
    revision: Revision = None,
) -> None:
    """Change an agent, or take a disabled one back into work."""
    given = {"name": name, "instructions": instructions, "enabled": enable}
    fields = {key: value for key, value in given.items() if value is not None}
    if not fields:
        raise typer.BadParameter("name what to change.", param_hint="--name")
    await _write(invocation, "update", agent_id, revision, fields, "is changed")


@app.command("disable")
@command()
async def disable(invocation: Invocation, agent_id: AgentId, revision: Revision = None) -> None:
    """Give an agent no more tasks, and announce none of its late news."""
    await _write(invocation, "disable", agent_id, revision, {}, "is disabled")


@app.command("delete")
@command()
async def delete(invocation: Invocation, agent_id: AgentId, revision: Revision = None) -> None:
    """Delete an agent that has no task at work; its ended tasks stay."""
    await _write(invocation, "delete", agent_id, revision, {}, "is deleted")


async def _write(
    invocation: Invocation, act: str, agent_id: str, revision: int | None, fields: Json, done: str
) -> None:
    from domain.refusal import refuse
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    async with connected(invocation.settings()) as client:
        if revision is None:
            agents = (await client.call("agents.profiles.list", {}))["items"]
            seen = next((agent["revision"] for agent in agents if agent["agent_id"] == agent_id), None)
            if seen is None:
                raise refuse("not_found", "No such agent.")
            revision = seen
        wanted = {"agent_id": agent_id, "expected_revision": revision, **fields}
        answer = await client.call(f"agents.profiles.{act}", wanted, request_id=new_request_id())
    if invocation.as_json:
        print_json(answer)
    else:
        write(f"{agent_id} {done}.")


def _state(agent: Json) -> str:
    return "enabled" if agent["enabled"] else "disabled"
