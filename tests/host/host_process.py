"""A host in a process of its own, for tests that end it: `python -m tests.host.host_process SETTINGS_JSON`."""

import asyncio
import sys
from pathlib import Path

from domain.refusal import Refused
from host.serve import run_host
from runtime.logging import configure_logging
from runtime.settings import Settings


def main(raw: str) -> int:
    settings = Settings.model_validate_json(raw)
    configure_logging("json", "host")
    try:
        asyncio.run(run_host(settings, print_link=lambda line: print(line, flush=True)))  # noqa: T201
    except Refused as refused:
        sys.stderr.write(f"{refused.refusal.code}: {refused.refusal.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main(sys.argv[1]))
