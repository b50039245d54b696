"""A worker that dies at one point of an effect's path: after the claim, after the start, or after the write (I4)."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from temporalio.testing import ActivityEnvironment

from activities.effects import FileEffectActivities
from activities.file_effect import FileEffect
from adapters.dispatch_lock import DispatchLocks
from adapters.files_root import FilesRoot
from contracts.effects import EffectRef
from store.database import Database
from store.effect_ends import Outcome
from tests.activities.conftest import Told
from tests.effect_world import LIMITS, SCOPE


class Dying(FileEffect):
    """Kills its process before or after the write."""

    def __init__(self, root: FilesRoot, point: str) -> None:
        super().__init__(root)
        self._point = point

    def perform(self, fields: dict[str, Any], content: bytes) -> Outcome:
        if self._point == "started":
            os._exit(9)
        outcome = super().perform(fields, content)
        if self._point == "written":
            os._exit(9)
        return outcome


async def carry(url: str, home: Path, effect_id: str, point: str) -> None:
    """Carry the effect as a worker does, up to the point."""
    performer = Dying(FilesRoot(home / "files", (home / "state",)), point)
    locks = DispatchLocks(home / "state/dispatch")
    carried = FileEffectActivities(Database(url), performer, locks, Told(), LIMITS)
    effect = EffectRef(user_space=SCOPE.user_space, domain=SCOPE.domain, effect_id=effect_id)
    await carried.gate(effect)
    if point == "claimed":
        os._exit(9)
    await ActivityEnvironment().run(carried.dispatch, effect)
    if point == "stored":
        os._exit(9)


if __name__ == "__main__":
    asyncio.run(carry(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
