"""Commands that wait for input: which effects have one open, and its end in the effect's trail (E15, E20, I6).

The effect of an interactive command has succeeded when it has started; that its process still runs is what its trail
does not say yet.
"""

from collections.abc import Sequence

from sqlalchemy import exists, select

from domain.effect import EffectKind, EffectState
from store import changes
from store.database import Transaction
from store.effect_rows import append_trail
from store.tables_authority import EffectRow, EffectTrailRow

_STEP = "process"
_ENDED = "ended"


async def open_processes(tx: Transaction, task_ids: Sequence[str] | None = None) -> list[EffectRow]:
    """The effects whose process was not seen to end, of some tasks or of all runs of this scope."""
    end = exists().where(EffectTrailRow.effect_id == EffectRow.effect_id, EffectTrailRow.step == _STEP)
    query = select(EffectRow).where(
        EffectRow.user_space == tx.scope.user_space,
        EffectRow.domain == tx.scope.domain,
        EffectRow.kind == EffectKind.COMMAND.value,
        EffectRow.state == EffectState.SUCCEEDED.value,
        EffectRow.action["interactive"].as_boolean(),
        ~end,
    )
    if task_ids is not None:
        query = query.where(EffectRow.task_id.in_(task_ids))
    return list(await tx.session.scalars(query))


async def end_process(tx: Transaction, effect: EffectRow, code: str | None) -> bool:
    """Store that the process of an interactive command has ended; False when it has none open.

    Args:
        tx: the unit of work.
        effect: the effect that started it.
        code: why it was ended; None when it ended by itself or with its run.
    """
    if effect.effect_id not in [row.effect_id for row in await open_processes(tx)]:
        return False
    await append_trail(tx, effect, _STEP, _ENDED, code)
    changes.notify(tx, "activity")
    return True
