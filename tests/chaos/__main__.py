"""`make chaos ROUNDS=n [SEED=s]` (O17): kills at random moments under load, and what became of everything.

Exit code 1 when a promise was broken, with the seed to repeat it.
"""

import argparse
import asyncio
import secrets
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.blackbox.instance import PROCESSES, Instance
from tests.chaos.kills import SUPERVISOR
from tests.chaos.ledger import BREACHES
from tests.chaos.rounds import Chaos, Outcome
from tests.chaos.setting_up import chaotic_steward
from tests.fake_model_server import FakeModelServer

JOBS_PER_ROUND = 12
COLUMNS = ("accepted", "delivered", "failed", "cancelled", "unknown", *BREACHES)
KILLED = (*PROCESSES, SUPERVISOR)


def main() -> int:
    """Run the rounds and print a table of them."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None, help="of the mix, the pace and the moments of the kills")
    parser.add_argument("--jobs", type=int, default=JOBS_PER_ROUND, help="pieces of work in each round")
    given = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    with tempfile.TemporaryDirectory(prefix="steward-chaos-") as folder, FakeModelServer() as models:
        steward = chaotic_steward(Path(folder), models)
        total = asyncio.run(_rounds(steward, models, seed, given.rounds, given.jobs))
    _say(f"Work: {_counted(total.kinds)}")
    _say(f"Counts: {_counted(total.counts)}")
    for kind, what in total.breaches:
        _say(f"{kind}: {what}")
    if total.breaches:
        _say(f"Repeat with: make chaos ROUNDS={given.rounds} SEED={seed}")
    return 1 if total.breaches else 0


async def _rounds(steward: Instance, models: FakeModelServer, seed: int, rounds: int, jobs: int) -> Outcome:
    chaos = Chaos(steward, models, seed, jobs)
    _say(f"Seed {seed}, {jobs} pieces of work per round.\n")
    _say(f"| round | {' | '.join(COLUMNS)} | killed {' / '.join(KILLED)} | while starting | s |")
    _say("|---" * (len(COLUMNS) + 4) + "|")
    try:
        await steward.start()
        for number in range(rounds):
            outcome = await chaos.round()
            _say(_row(str(number + 1), outcome))
            for kind, what in outcome.breaches:
                _say(f"{kind}: {what}")
    finally:
        await steward.end()
    _say(_row("all", chaos.total) + "\n")
    return chaos.total


def _row(name: str, outcome: Outcome) -> str:
    counts = outcome.counts
    figures = [
        counts["accepted"],
        counts["delivery delivered"],
        counts["task failed"],
        counts["delivery cancelled"],
        counts["effect unknown"],
        *(outcome.breached(kind) for kind in BREACHES),
    ]
    killed = " / ".join(str(outcome.kills[process]) for process in KILLED)
    shown = " | ".join(map(str, figures))
    return f"| {name} | {shown} | {killed} | {outcome.kills['while starting']} | {outcome.seconds:.0f} |"


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
