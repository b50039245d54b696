"""Runs `up` with the real Temporal server and stand-ins for worker and host: `python run_up.py JOURNAL`."""

import asyncio
import dataclasses
import sys
from pathlib import Path

from domain.refusal import Refused
from runtime import up as up_module
from runtime.logging import configure_logging
from runtime.settings import Settings
from runtime.settings_sources import load_settings
from runtime.supervised_child import ChildSpec

FAKE_CHILD = Path(__file__).with_name("fake_child.py")
real_specs = up_module.child_specs


def with_stand_ins(settings: Settings) -> list[ChildSpec]:
    def stand_in(spec: ChildSpec) -> ChildSpec:
        if spec.name == "temporal":
            return spec
        command = (sys.executable, str(FAKE_CHILD), sys.argv[1], spec.name, "serve")
        return dataclasses.replace(spec, command=command, is_ready=None)

    return [stand_in(spec) for spec in real_specs(settings)]


async def announce() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    configure_logging("json", "up")
    up_module.child_specs = with_stand_ins
    try:
        sys.exit(asyncio.run(up_module.up(load_settings(), announce)))
    except Refused as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(1)
