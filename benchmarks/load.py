"""Memory and processor time of the supervised processes while something runs (d)."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import psutil

from benchmarks.instance import Instance

NAMES = ("host", "worker", "temporal")
SAMPLE_S = 0.25
MEGABYTE = 1_000_000


@dataclass(slots=True)
class Load:
    """The largest resident memory in bytes, and the processor time in seconds, by process."""

    memory: dict[str, int] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)

    def of_processes(self) -> Iterator[tuple[str, int, float]]:
        """Each process with its memory and its processor time."""
        for name in NAMES:
            yield name, self.memory[name], self.processor[name]

    def rows(self, tasks: int) -> Sequence[tuple[str, str, str, str]]:
        """Rows of a table of throughput."""
        bars = {"host": "300 MB", "worker": "300 MB"}
        return [
            (
                f"{name}: memory, processor time per task",
                f"{self.memory[name] / MEGABYTE:.0f} MB, {1000 * self.processor[name] / tasks:.0f} ms",
                "",
                bars.get(name, ""),
            )
            for name in NAMES
        ]


@asynccontextmanager
async def watched(instance: Instance, load: Load) -> AsyncIterator[None]:
    """Add what the processes use during the block."""
    processes = {name: instance.process(name) for name in NAMES}
    before = {name: _seconds(process) for name, process in processes.items()}
    sampling = asyncio.create_task(_sample(processes, load))
    try:
        yield
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling
        for name, process in processes.items():
            load.processor[name] = load.processor.get(name, 0.0) + _seconds(process) - before[name]


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _sample(processes: dict[str, psutil.Process], load: Load) -> None:
    while True:
        for name, process in processes.items():
            load.memory[name] = max(load.memory.get(name, 0), process.memory_info().rss)
        await asyncio.sleep(SAMPLE_S)
