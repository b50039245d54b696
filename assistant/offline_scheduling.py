"""The offline model's next step where automations are meant (O2, U9): propose, look one up, pause, delete. Pure.

The exact schedule and its next times are always said, and nothing is guessed: what is unclear is asked about.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any, Final
from zoneinfo import ZoneInfo

from assistant.condense import one_line
from assistant.deliveries import Language
from assistant.offline_grammar import Request, instruction
from assistant.offline_schedule_grammar import Order, Scheduled, Understood
from assistant.offline_schedule_words import say_schedule, say_times
from assistant.offline_steps import FileNames, MadeCall, Step, call, folded, words
from assistant.offline_when import Unclear, When
from assistant.offline_words import say
from assistant.tool_arguments import TITLE_CHARACTERS

_PLAIN_CRON: Final = re.compile(r"\d{1,2} \d{1,2} (?P<days>\S+ \S+ \S+)")
_PLAIN_ONCE: Final = re.compile(r"(?P<day>\d{4}-\d{2}-\d{2})T[\d:]+")
_TOOLS: Final = {"pause": "pause_automation", "delete": "delete_automation"}


def scheduling_step(
    understood: Understood, made: Sequence[MadeCall], files: FileNames, zone: str, language: Language
) -> Step:
    """What follows for a request about automations; `zone` is the one that times are shown in."""
    if isinstance(understood, Unclear):
        return words(say_schedule(understood.why, language, name=understood.name))
    if made and made[-1].answer.error is not None:
        return words(say("tool_error", language, message=made[-1].answer.message or str(made[-1].answer.error)))
    if made and made[-1].name in ("schedule_task", "reschedule_automation"):
        return words(_proposed(made[-1].answer.fields, language))
    if isinstance(understood, Scheduled):
        return _propose(understood, files, language)
    if not made:
        return call("list_automations")
    if made[-1].name == "list_automations":
        return _listed_step(understood, made[-1].answer.fields, zone, language)
    done = "paused" if made[-1].name == "pause_automation" else "deleted"
    return words(say_schedule(done, language, title=str(made[-1].answer.fields.get("title", ""))))


def _propose(wanted: Scheduled, files: FileNames, language: Language) -> Step:
    work = wanted.work
    if work.source and (question := files.unclear(work.source, language)):
        return words(question)
    attachment = files.find(work.source) if work.source else None
    source, target = attachment.name if attachment else work.source or "", work.target or ""
    if work.verb in ("write", "append"):
        title, told = say_schedule(f"title_{work.verb}", language, target=target), wanted.text
    else:
        key = "title_copy" if work.verb == "copy" else "title_summarise" if target else "title_summary"
        title = say(key, language, source=source, target=target)
        path = attachment.relative_path if attachment else work.source
        told = instruction(Request(work.verb, path, work.target), language)
    return call(
        "schedule_task",
        title=one_line(title, TITLE_CHARACTERS),
        instructions=told,
        schedule=wanted.schedule.schedule,
    )


def _proposed(fields: Mapping[str, Any], language: Language) -> str:
    proposal = fields.get("proposal")
    shown: Mapping[str, Any] = proposal if isinstance(proposal, dict) else {}
    times = say_times(shown.get("next_times") or [], language)
    key = "proposed_move" if shown.get("kind") == "reschedule" else "proposed"
    return "\n".join(
        [
            say_schedule(key, language, title=str(shown.get("title", "")), words=_words(shown, language)),
            say_schedule("next", language, zone=str(shown.get("timezone", "")), times=times),
            say_schedule("not_saved", language, proposal_id=str(shown.get("proposal_id", ""))),
        ]
    )


def _words(shown: Mapping[str, Any], language: Language) -> str:
    said = shown.get("words")
    return str(said.get(language, "")) if isinstance(said, dict) else ""


def _listed_step(order: Order, fields: Mapping[str, Any], zone: str, language: Language) -> Step:
    found = [one for one in fields.get("automations", []) if isinstance(one, dict)]
    if order.verb == "list":
        return words(_listed(found, fields, zone, language))
    named = _named(order.name, found)
    if not named:
        return words(say_schedule("no_such", language, name=order.name))
    if len(named) > 1:
        lines = [f"- {one.get('title')} ({one.get('automation_id')})" for one in named]
        return words("\n".join([say_schedule("which", language), *lines]))
    automation_id = str(named[0].get("automation_id", ""))
    if order.verb != "move":
        return call(_TOOLS[order.verb], automation_id=automation_id)
    schedule = _moved(named[0].get("schedule"), order.when)
    if schedule is None:
        return words(say_schedule("only_whole", language, title=str(named[0].get("title", ""))))
    return call("reschedule_automation", automation_id=automation_id, schedule=schedule)


def _named(name: str, found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that a name means: by id, by the whole title, else by a part of it."""
    wanted = folded(name)
    by_id = [one for one in found if one.get("automation_id") == name.strip()]
    whole = [one for one in found if folded(str(one.get("title", ""))) == wanted]
    return by_id or whole or [one for one in found if wanted in folded(str(one.get("title", "")))]


def _moved(schedule: object, when: When | time | None) -> Mapping[str, Any] | None:
    """The new schedule: the one that was named, or the old days at another time; None where there is no such time."""
    if isinstance(when, When):
        return when.schedule
    if when is None or not isinstance(schedule, dict):
        return None
    cron, once = schedule.get("cron") or {}, schedule.get("once") or {}
    if found := _PLAIN_CRON.fullmatch(str(cron.get("expression", ""))):
        expression = f"{when.minute} {when.hour} {found['days']}"
        return {"cron": {"expression": expression}, "timezone": schedule.get("timezone")}
    if found := _PLAIN_ONCE.fullmatch(str(once.get("at", ""))):
        return {"once": {"at": f"{found['day']}T{when.strftime('%H:%M')}"}, "timezone": schedule.get("timezone")}
    return None


def _listed(found: Sequence[Mapping[str, Any]], fields: Mapping[str, Any], zone: str, language: Language) -> str:
    proposals = [one for one in fields.get("proposals", []) if isinstance(one, dict)]
    lines = [say_schedule("listed", language), *(_line(one, zone, language) for one in found)] if found else []
    if proposals:
        lines += [say_schedule("proposals", language), *(_line(one, zone, language) for one in proposals)]
    if fields.get("more"):
        lines.append(say_schedule("more", language))
    return "\n".join(lines) or say_schedule("none", language)


def _line(one: Mapping[str, Any], zone: str, language: Language) -> str:
    said = _words(one, language) or str((one.get("error") or {}).get("message", ""))
    state = str(one.get("state") or one.get("proposal_id") or "")
    line = say_schedule("line", language, title=str(one.get("title", "")), state=state, words=said)
    times = one.get("next_times") or []
    if not times:
        return line
    local = datetime.fromisoformat(str(times[0])).astimezone(ZoneInfo(zone))
    return line + "." * (language == "en") + say_schedule("line_next", language, time=f"{local:%Y-%m-%d %H:%M} {zone}")
