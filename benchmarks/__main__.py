"""Benchmarks: `make bench` for the short ones, `python -m benchmarks NAME ...` for any. Markdown on standard output."""

import argparse
import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import accept, attention, conversation, first_token, gate, killed, lists, reschedules, stops, tasks
from benchmarks.report import Table, machine, say

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: rounds of each comparison, turns of the long conversation, rows of the lists."""

    rounds: int
    turns: int
    rows: int


Benchmark = Callable[[Size], AsyncIterator[Table]]


def _one(measure: Callable[[Size], Awaitable[Table]]) -> Benchmark:
    async def tables(size: Size) -> AsyncIterator[Table]:
        yield await measure(size)

    return tables


SHORT: Mapping[str, Benchmark] = {
    "accept": _one(lambda size: accept.run(size.rounds)),
    "tasks": lambda size: tasks.run(size.rounds),
    "first-token": _one(lambda size: first_token.run(size.rounds)),
    "gate": _one(lambda size: gate.run(size.rounds)),
}
LONG: Mapping[str, Benchmark] = {
    "lists": _one(lambda size: lists.run(size.rounds, size.rows)),
    "conversation": _one(lambda size: conversation.run(size.turns)),
    "stops": _one(lambda size: stops.run(size.rounds)),
    "killed": _one(lambda size: killed.run(size.rounds)),
    "attention": lambda size: attention.run(size.rounds),
    "reschedules": _one(lambda _size: reschedules.run()),
}
ALL = {**SHORT, **LONG}


async def run(names: Sequence[str], size: Size) -> None:
    """Run these and print their tables as they come."""
    say(machine().markdown())
    for name in names:
        async for table in ALL[name](size):
            say(table.markdown())


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ALL, []], metavar="NAME",
                        help=f"{', '.join(SHORT)} (these if none is named); {', '.join(LONG)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each comparison; their spread is shown")
    parser.add_argument("--turns", type=int, default=conversation.TURNS, help="turns of the long conversation")
    parser.add_argument("--rows", type=int, default=lists.MANY, help="tasks and messages of the lists, in each table")
    wanted = parser.parse_args()
    # As Ctrl-C does it: the processes that were started end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asyncio.run(run(wanted.names or list(SHORT), Size(wanted.rounds, wanted.turns, wanted.rows)))


if __name__ == "__main__":
    main()
