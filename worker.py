"""The worker's entry: settings, then serve until SIGTERM."""

import gc
import sys

from runtime.start_up_collection import collection_paused, keep_for_good

with collection_paused():
    import uvloop

    from assistant.provider import ConfigurationError
    from domain.refusal import Refused
    from runtime.exit_codes import FAILED, start_up_error
    from runtime.logging import configure_logging
    from runtime.settings_sources import load_settings
    from runtime.worker_process import run_worker


def main() -> int:
    """Run the worker; the exit code says whether a restart can help."""
    keep_for_good()
    try:
        settings = load_settings()
        configure_logging(settings.log_format, "worker")
        try:
            uvloop.run(run_worker(settings))
        finally:
            # The interpreter's last collection over this many modules can outlast the time to stop on a busy machine.
            gc.freeze()
    except ConfigurationError as error:
        sys.stderr.write(f"invalid_params: {error}\n")
        return start_up_error()
    except Refused as refused:
        sys.stderr.write(f"{refused.refusal.code}: {refused.refusal.message}\n")
        return FAILED if refused.refusal.code == "orchestrator_unavailable" else start_up_error()
    return 0


if __name__ == "__main__":
    sys.exit(main())
