"""The kinds of work of a round. Each drives one piece of work to its end and states what must be true of it then.

A kind never waits for anything that a kill may prevent for good: it waits for rows, not for what was seen on the way.
"""

from collections.abc import Awaitable, Callable

from tests.blackbox.scripts import delay, delegate, say, steps, tool
from tests.chaos.job import FileChange, Job, Reply, of_size
from tests.chaos.world import World

LARGE_BYTES = 200_000_000
Kind = Callable[[World, Job], Awaitable[None]]


def words(tag: str, number: int) -> str:
    """A text each of whose words stands in it once."""
    return " ".join(f"{tag}.w{each}" for each in range(number))


def submit(job: Job, version: int = 1, number: int = 4, slowly: int = 0) -> str:
    """Hand in a result whose reply is a known text."""
    job.results[version] = words(f"{job.tag}.result{version}", number)
    pace = delay(slowly) if slowly else ""
    return tool("submit_result", summary=pace + say(job.results[version]))


def mark(job: Job, version: int = 1) -> str:
    """Something in an executor's script that names it; it is said beside the tool call."""
    return say(f"{job.tag}.v{version}")


async def talk(world: World, job: Job) -> None:
    """A reply that streams for a moment."""
    text = words(job.tag, 12)
    receipt = await world.send(f"{job.tag}:say", delay(15) + say(text))
    world.replies[receipt["turn_id"]] = Reply(text)


async def handed_over(world: World, job: Job) -> None:
    """A task without effects that the main agent hands over."""
    script = mark(job) + submit(job)
    receipt = await world.send(f"{job.tag}:send", delegate(job.tag, script, f"{job.tag} in hand"))
    world.replies[receipt["turn_id"]] = Reply(f"{job.tag} in hand")


async def writes_file(world: World, job: Job) -> None:
    """A task that creates a file, which is allowed."""
    change = FileChange(f"{job.tag}.txt", None, job.tag)
    job.changes.append(change)
    write = tool("write_file", path=change.path, content=change.after)
    await world.create(job.tag, steps(mark(job) + write, submit(job)))


async def denied_file(world: World, job: Job) -> None:
    """A task that asks to create a file, which is denied."""
    job.card = "deny"
    await writes_file(world, job)


async def edits_file(world: World, job: Job) -> None:
    """A change that would show if it were made twice."""
    change = FileChange(f"{job.tag}.txt", f"{job.tag}|", f"{job.tag}+|")
    job.changes.append(change)
    (world.steward.files / change.path).write_text(f"{job.tag}|")
    edit = tool("edit_file", path=change.path, old="|", new="+|")
    receipt = await world.send(f"{job.tag}:send", delegate(job.tag, steps(mark(job) + edit, submit(job)), job.tag))
    world.replies[receipt["turn_id"]] = Reply(job.tag)


async def replaces_large_file(world: World, job: Job) -> None:
    """A dispatch that takes a while, so that a kill may come in the middle of it."""
    change = FileChange(f"{job.tag}.bin", of_size(LARGE_BYTES), job.tag)
    job.changes.append(change)
    with (world.steward.files / change.path).open("wb") as large:
        large.truncate(LARGE_BYTES)
    write = tool("write_file", path=change.path, content=change.after)
    await world.create(job.tag, steps(mark(job) + write, submit(job)))


async def asks(world: World, job: Job) -> None:
    """A question that is answered."""
    ask = tool("ask_user", question=say(f"{job.tag} asks"), options=["March", "April"])
    await world.create(job.tag, steps(mark(job) + ask, submit(job)))


async def asks_in_vain(world: World, job: Job) -> None:
    """A question that is cancelled."""
    job.question = "cancel"
    await asks(world, job)


async def sub_task(world: World, job: Job) -> None:
    """A child's result goes to its parent alone (T13)."""
    child = f"{job.tag}-child"
    job.titles.append(child)
    delegating = tool("delegate_task", title=child, instructions=tool("submit_result", summary="from the child"))
    await world.create(job.tag, steps(mark(job) + delegating, submit(job)))
