"""Lets a process be killed at an exact point of its code: between a commit and its answer there is no other way in.

Python imports this by its name at the start of every process that has this folder in PYTHONPATH. A point does nothing
until a test arms it by a file of its name in the folder MORTAL_POINTS; the file says which process is killed there, and
it strikes once. The product knows nothing of it.
"""

import functools
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

Work = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Point:
    """Before or after a call of `owner.function` in a module; of a relayed entry only for its `kind`."""

    name: str
    module: str
    function: str
    when: Literal["before", "after"]
    owner: str | None = None
    kind: str | None = None


POINTS = (
    Point("decided", "activities.automations", "fire", "after", owner="AutomationWork"),
    Point("before-renewal", "activities.schedule_sync", "renew", "before", owner="AutomationSchedules"),
    Point("renewed", "activities.schedule_sync", "renew", "after", owner="AutomationSchedules"),
    Point("before-following", "activities.schedule_sync", "_update", "before", owner="AutomationSchedules"),
    Point("followed", "activities.schedule_sync", "_update", "after", owner="AutomationSchedules"),
    Point("caught-up", "host.automation_care", "_caught_up", "after", owner="AutomationCare"),
    Point("before-task-start", "host.relay_calls", "relay", "before", kind="task.start"),
    Point("task-started", "host.relay_calls", "relay", "after", kind="task.start"),
)


def strike(point: Point, arguments: tuple[Any, ...]) -> None:
    """Kill whom the armed point names, and leave the pid; unarmed, or in another process's hands, nothing happens."""
    if point.kind is not None and arguments[-1].kind != point.kind:
        return
    armed = Path(os.environ["MORTAL_POINTS"], point.name)
    try:
        victim = armed.read_text("ascii")
        armed.unlink()
    except FileNotFoundError:
        return
    pid = int(Path(os.environ["STEWARD_HOME"], "run", f"{victim}.pid").read_text("ascii"))
    armed.with_suffix(".struck").write_text(str(pid), "ascii")
    os.kill(pid, signal.SIGKILL)


def mortal(point: Point, work: Work) -> Work:
    """The same work, with the point before or after it."""

    @functools.wraps(work)
    async def done(*arguments: Any) -> Any:
        if point.when == "before":
            strike(point, arguments)
        answer = await work(*arguments)
        if point.when == "after":
            strike(point, arguments)
        return answer

    return done


class MortalModules(MetaPathFinder):
    """Puts the points into their modules right after these have been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, with a loader that adds the points."""
        own = [point for point in POINTS if point.module == fullname]
        spec = PathFinder.find_spec(fullname, path, target) if own else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_mortal(module: ModuleType) -> None:
            load(module)
            for point in own:
                holder = module if point.owner is None else getattr(module, point.owner)
                setattr(holder, point.function, mortal(point, getattr(holder, point.function)))

        spec.loader.exec_module = load_mortal  # type: ignore[method-assign]
        return spec


if "MORTAL_POINTS" in os.environ:
    sys.meta_path.insert(0, MortalModules())
