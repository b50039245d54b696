"""What one effect costs in SQL, counted on the path that the benchmark measures (E12, O16)."""

from collections import Counter
from pathlib import Path

from benchmarks import gate
from domain.effect import EffectState


async def test_an_effect_takes_no_more_transactions_than_it_must(tmp_path: Path) -> None:
    """E12: one that writes with the claim, one with the start, one with the outcome; the rest only looks."""
    path = await gate.opened(tmp_path)
    counted = Counter[str]()
    effect = await path.gated(await path.call(2), counted)
    assert (await path.world.reread(effect)).state == EffectState.SUCCEEDED
    await path.world.database.close()
    assert {name: number for name, number in counted.items() if name.endswith("writing")} == {
        "proposal: writing": 1,
        "dispatch: writing": 2,
    }
    assert counted.total() <= 7
