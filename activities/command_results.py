"""What became of a command, as an outcome and as what the model is told (E13, E15).

An exit code other than 0 is how a command ends, not a failure of the effect: what was allowed has happened.
"""

from typing import Any, Final

from adapters.process_output import output_text
from domain.effect import EffectEvent
from domain.process_end import Why
from domain.refusal import Refusal
from store.effect_ends import Outcome, Result

Json = dict[str, Any]
_TIMED_OUT: Final = Refusal(
    "limit_exceeded", "The command did not end within its time limit and was ended with everything it had started."
)
_INTERRUPTED: Final = Refusal(
    "runtime_restarted",
    "Steward ended while the command ran, and the command was ended with it. What it had done until then is done.",
)


def run_outcome(record: Json, stop_code: str) -> Outcome:
    """The outcome of a command by the record of its end.

    Args:
        record: as its supervising process wrote it.
        stop_code: the code to tell where a stop ended it.
    """
    how = record["how"]
    if how == "not_started":
        refusal = Refusal("runtime_restarted", "The command did not begin. Nothing ran.")
        return Outcome(EffectEvent.FAIL, refusal)
    result = {**_exit(record), **_output(record)}
    if how == "exited":
        return Outcome(EffectEvent.SUCCEED, result={"ok": record["exit_code"] == 0, **result})
    if how == "timeout":
        return Outcome(EffectEvent.FAIL, _TIMED_OUT, result)
    if how in (Why.STOPPED, Why.RUN_ENDED):
        stopped = Refusal(stop_code, "The command was stopped, with everything it had started.")
        return Outcome(EffectEvent.FAIL, stopped, result)
    return Outcome(EffectEvent.FAIL, _INTERRUPTED, result)


def input_outcome(said: Json, process_id: str) -> Outcome:
    """The outcome of an input, or of an interactive start: what the command has said since the last one."""
    running = "how" not in said
    ended = {} if running else _exit(said)
    result = {"process_id": process_id, "running": running, **ended, **_output(said)}
    return Outcome(EffectEvent.SUCCEED, result=result)


def _exit(record: Json) -> Result:
    code, number = record.get("exit_code"), record.get("signal")
    return {"exit_code": code} if number is None else {"exit_code": code, "signal": number}


def _output(record: Json) -> Result:
    told: dict[str, str | int | bool | None] = {}
    for stream in ("stdout", "stderr"):
        kept = record[stream]
        told[stream] = output_text(kept)
        told[f"{stream}_bytes"] = int(kept["total"])
    return told
