"""How a command ends: exit code, and one line `code: message` on stderr, with `--json` an object (O4)."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from domain.refusal import Refusal, Refused
from runtime.exit_codes import DONE, FAILED, UNREACHABLE, start_up_error

NOT_REACHABLE = "not_reachable"
"""The word for exit code 3; it is never on the wire, since nobody was there to send it."""

Ending = int | None
Action = Callable[[], Ending | Coroutine[Any, Any, Ending]]


class Unreachable(Exception):
    """Nobody answers where the host should be; the text says what to do."""


def outcome(action: Action, *, as_json: bool, starts_process: bool = False) -> int:
    """Carry out a command and return its exit code (O4).

    Args:
        action: The command; it returns its own exit code, None for success, or a coroutine of these.
        as_json: Whether a failure is told as an object.
        starts_process: Whether a refusal is a start-up error, which the supervisor tells from other ends (O22).
    """
    from assistant.provider import ConfigurationError

    try:
        result = action()
        if asyncio.iscoroutine(result):
            result = asyncio.run(result)
        return DONE if result is None else int(result)
    except Unreachable as error:
        tell(Refusal(NOT_REACHABLE, str(error)), as_json=as_json)
        return UNREACHABLE
    except ConfigurationError as error:
        tell(Refusal("invalid_params", str(error), {"setting": error.setting}), as_json=as_json)
        return start_up_error() if starts_process else FAILED
    except Refused as refused:
        tell(refused.refusal, as_json=as_json)
        # A server that does not answer yet may answer after a restart; nothing else mends itself.
        return start_up_error() if starts_process and refused.refusal.code != "orchestrator_unavailable" else FAILED


def tell(refusal: Refusal, *, as_json: bool) -> None:
    """Write a failure to stderr."""
    from host.cli.printing import shown

    if as_json:
        line = json.dumps({**refusal.details, "code": refusal.code, "message": refusal.message}, ensure_ascii=False)
    else:
        line = shown(f"{refusal.code}: {refusal.message}", keep="")
    sys.stderr.write(f"{line}\n")
