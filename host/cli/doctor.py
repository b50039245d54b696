"""`steward doctor`: what works, what does not, and how to mend it (O5)."""

import logging
from dataclasses import asdict
from typing import TYPE_CHECKING

from host.cli.invocation import CHECK_SETTINGS, Invocation, command

if TYPE_CHECKING:
    from host.cli.finding import Finding

MARKS = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}


@command(CHECK_SETTINGS)
async def doctor(invocation: Invocation) -> int:
    """Check settings, folders, ports, Temporal, database, worker, model, engines, confinement, disk and clock."""
    from host.cli.checks import examine
    from host.cli.printing import print_json
    from runtime.exit_codes import DONE, FAILED
    from runtime.logging import configure_logging

    # Its findings say what the libraries' lines would.
    configure_logging("console", "doctor", logging.CRITICAL)
    findings = await examine(invocation.settings())
    well = all(finding.state != "failed" for finding in findings)
    if invocation.as_json:
        print_json({"ok": well, "checks": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    return DONE if well else FAILED


def _print(findings: "list[Finding]") -> None:
    from host.cli.printing import shown, write

    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        write(f"{MARKS[finding.state]}  {finding.check:<{width}}  {shown(finding.found, keep='')}")
        if finding.mend:
            write(f"{'':<{width + 11}}{shown(finding.mend, keep='')}")
