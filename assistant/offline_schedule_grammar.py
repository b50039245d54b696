"""Requests about automations that the offline model understands (O2, U9): work with its time, and what is done to one.

Pure. The hard thing is where the time ends and the work begins, and not to take for a time what is none: only a whole
phrase about time beside work that a task can do is a schedule.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from typing import Final, Literal, TypeAlias

from assistant.offline_grammar import REQUEST_CHARACTERS, Request, parse, plain_request, unquoted
from assistant.offline_when import Unclear, When
from assistant.offline_when_chinese import chinese_time, chinese_when
from assistant.offline_when_english import english_time, english_when
from assistant.prompts import Clock

Verb: TypeAlias = Literal["list", "pause", "delete", "move"]
WORK: Final = ("summarise", "copy", "write", "append")
"""What a task of the offline model can do; all else is answered at once and has no schedule."""
PHRASE_CHARACTERS: Final = 80

_CJK: Final = r"[\u3400-\u9fff]"
_BORDERS: Final = re.compile(rf"[\s,，:：;；]+|(?<={_CJK})|(?={_CJK})")
_MARKS: Final = " \t\n,，:：;；、"
_KIND: Final = r"(?:automations?|schedules?|scheduled tasks?)"
_ZH_KIND: Final = r"(?:自动化任务|自动化|定时任务|计划任务|日程)"
_ORDERS: Final[tuple[tuple[Verb, str], ...]] = (
    (
        "list",
        rf"(?:list|show)(?: me)?(?: all)?(?: the| my)? {_KIND}|{_KIND}|what is scheduled|what do you have scheduled",
    ),
    ("list", rf"(?:列出|显示|查看|看看?)?(?:所有|全部|我的)*的?{_ZH_KIND}(?:列表)?|有(?:哪些|什么){_ZH_KIND}"),
    ("pause", rf"(?:pause|suspend)(?: the| my)?(?: {_KIND})? (?P<name>.+)"),
    ("pause", rf"暂停\s*(?:这个|那个)?{_ZH_KIND}?\s*(?P<name>.+)"),
    # What deletes has to be named as what it is: “delete notes.txt” is about a file.
    ("delete", rf"(?:delete|remove)(?: the| my)? {_KIND} (?P<name>.+)"),
    ("delete", rf"(?:delete|remove)(?: the| my)? (?P<name>.+) {_KIND}"),
    ("delete", rf"(?:删除|移除|删掉)\s*(?:这个|那个)?{_ZH_KIND}\s*(?P<name>.+)"),
)
_MOVE: Final = (
    rf"(?:move|reschedule|shift|change)(?: the| my)?(?: {_KIND})? (?P<name>.+) (?:to|for) (?P<when>.+)",
    rf"(?:把|将)\s*{_ZH_KIND}?\s*(?P<name>.+?)\s*(?:改|移|调整?|挪|推迟|提前)(?:到|为|成|至)\s*(?P<when>.+)",
)
_LEAD: Final = re.compile(
    rf"\A(?:(?:(?:schedule|plan)(?: an?| the)?(?: {_KIND}| task| job)?|(?:set up|create|add)(?: an?| the)? {_KIND})"
    rf"(?: that| to)?\s*[:,]?\s+|(?:安排|设置|新建|创建)(?:一个|一项)?{_ZH_KIND}?\s*[：:，,]\s*)",
    re.IGNORECASE,
)
_BLANKS: Final = re.compile(r"\s{50}")
_COMPILED: Final = tuple((verb, re.compile(pattern, re.IGNORECASE)) for verb, pattern in _ORDERS)
_COMPILED_MOVE: Final = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _MOVE)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Work with its time; `text` is the work in the person's words."""

    schedule: When
    work: Request
    text: str


@dataclass(frozen=True, slots=True)
class Order:
    """Something to be done to an automation that exists; `when` is a whole schedule, or another time of the day."""

    verb: Verb
    name: str = ""
    when: When | time | None = None


Understood: TypeAlias = Scheduled | Order | Unclear


def understand(text: str, clock: Clock) -> Understood | None:
    """What a message asks about automations; None for one that does not."""
    whole = parse(text)
    if len(text) > REQUEST_CHARACTERS or _BLANKS.search(text) or (whole is not None and whole.verb not in WORK):
        return None
    plain = _LEAD.sub("", plain_request(text))
    if whole is None:
        return _order(plain, clock) or _scheduled(plain, clock)
    # Without a blank before it, a time behind the work has been read as part of a file's name.
    found = _scheduled(plain, clock)
    return found if isinstance(found, Scheduled) else None


def _order(plain: str, clock: Clock) -> Understood | None:
    for verb, pattern in _COMPILED:
        if found := pattern.fullmatch(plain):
            return Order(verb, unquoted(found.groupdict().get("name")) or "")
    for pattern in _COMPILED_MOVE:
        if found := pattern.fullmatch(plain):
            name, phrase = unquoted(found["name"]) or "", found["when"]
            other = english_time(phrase) or chinese_time(phrase) or _when(phrase, clock)
            if isinstance(other, Unclear):
                return other
            return None if other is None else Order("move", name, other)
    return None


def _scheduled(plain: str, clock: Clock) -> Understood | None:
    unclear: Unclear | None = None
    for phrase, rest in _divided(plain):
        when = _when(phrase, clock)
        if when is None:
            continue
        work = parse(rest) if rest else None
        if isinstance(when, When) and work is not None and work.verb in WORK:
            return Scheduled(when, work, rest)
        if isinstance(when, Unclear):
            # Beside work it is a time that was meant; alone or beside anything else it may be just words.
            unclear = unclear or (when if work is not None and work.verb in WORK else None)
        else:
            unclear = unclear or Unclear("no_work" if not rest else "other_work")
    return unclear


def _divided(plain: str) -> Iterator[tuple[str, str]]:
    """The text as a phrase about time and the rest: before it, longest first, then behind it, longest first."""
    borders = [(found.start(), found.end()) for found in _BORDERS.finditer(plain)]
    for start, end in reversed([(0, 0), *borders, (len(plain), len(plain))]):
        if 0 < start <= PHRASE_CHARACTERS:
            yield plain[:start], plain[end:].strip(_MARKS)
    for start, end in borders:
        if 0 < len(plain) - end <= PHRASE_CHARACTERS and start > 0:
            yield plain[end:], plain[:start].strip(_MARKS)


def _when(phrase: str, clock: Clock) -> When | Unclear | None:
    return english_when(phrase, clock) or chinese_when(phrase, clock)
