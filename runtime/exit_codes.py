"""How a process of Steward ends, and what its end tells the one that started it (O4, O22)."""

import os

DONE = 0
FAILED = 1
USAGE = 2
UNREACHABLE = 3

# A start-up error that a restart cannot mend; the number is EX_CONFIG of sysexits.h.
CONFIGURATION = 78

SUPERVISED = "STEWARD_SUPERVISED"


def start_up_error() -> int:
    """Return the exit code of a process that refuses to start: 1 for a person (O4), 78 for the supervisor."""
    return CONFIGURATION if os.environ.get(SUPERVISED) else FAILED
