"""`steward up`, `host` and `worker`: the processes themselves (O4, O22)."""

import gc
import os
import sys

from host.cli.invocation import PROCESS_SETTINGS, Invocation, command
from host.cli.printing import write
from runtime.start_up_collection import collection_paused, keep_for_good


@command(PROCESS_SETTINGS, starts_process=True)
def up(invocation: Invocation) -> int:
    """Run everything: the embedded Temporal server, a worker and the host; supervise them until Ctrl-C."""
    import asyncio

    from host.cli.login_link import login_link
    from runtime.logging import configure_logging
    from runtime.up import up as run_everything

    settings = invocation.settings()
    configure_logging(settings.log_format, "up")

    async def announce() -> None:
        write(f"Open {await login_link(settings)}")

    return asyncio.run(run_everything(settings, announce))


@command(PROCESS_SETTINGS, starts_process=True)
def host(invocation: Invocation) -> None:
    """Run the host alone: the page, /rpc and the main conversation's model steps."""
    with collection_paused():
        import uvloop

        from host.serve import run_host
        from runtime.logging import configure_logging
    keep_for_good()

    settings = invocation.settings()
    configure_logging(settings.log_format, "host")
    # A link in a file or a container's log would be a credential in a log; `steward auth link` makes one there.
    print_link = write if sys.stdout.isatty() and not _is_supervised() else None
    try:
        uvloop.run(run_host(settings, print_link=print_link))
    finally:
        # The interpreter's last collection over this many modules can outlast the time to stop on a busy machine (H16).
        gc.freeze()


@command(PROCESS_SETTINGS, starts_process=True)
def worker(invocation: Invocation) -> int:
    """Run one worker: workflows, shared activities, this machine's files."""
    from runtime.settings_sources import process_environment

    os.environ.update(process_environment(invocation.settings()))
    from worker import main as run_worker

    return run_worker()


def _is_supervised() -> bool:
    from runtime.exit_codes import SUPERVISED

    return bool(os.environ.get(SUPERVISED))
