"""What the offline model understands (O2): a small grammar of requests in English and Chinese, and how to say one back.

Pure. The hard thing is that whatever it writes as a task's instructions it must read again as the same request.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assistant.deliveries import Language

Verb: TypeAlias = Literal[
    "summarise", "copy", "write", "append", "list_files", "read", "list_tasks", "show_task", "stop_task"
]


REQUEST_CHARACTERS = 4_000
"""Longer texts are no requests of this grammar; the limit also bounds the work of its patterns."""


@dataclass(frozen=True, slots=True)
class Request:
    """One understood request: what is done, to which file, into which file, with which text."""

    verb: Verb
    source: str | None = None
    target: str | None = None
    text: str | None = None


_QUOTES = (("“", "”"), ('"', '"'), ("'", "'"), ("`", "`"), ("「", "」"))
_QUOTED = "|".join(f"{opening}[^{closing}\n]+{closing}" for opening, closing in _QUOTES)
_THIS = r"(?:the|this|that|my) (?:attachment|file|document)|this|it|that|这个(?:文件|附件)?|该文件|它|附件"
_SOURCE = rf"(?P<source>{_QUOTED}|{_THIS}|\S+?)"
_FILE = rf"(?P<source>{_QUOTED}|{_THIS}|\S*[./]\S*?|(?-i:[A-Z]{{2,}}))"
_TARGET = rf"(?P<target>{_QUOTED}|\S+?)"
_TEXT = r"[\"'“‘「`](?P<text>.+)[\"'”’」`]"

_INTO = (
    r"(?: (?:in)?to| in| as|,? and (?:save|write|put|store) (?:it|the summary|the result|the copy) (?:in|to|into|as))"
)
_FILE_WORD = r"(?:(?:the |my |a )?(?:file|attachment|document) )?(?:called |named )?"
_ZH_INTO = r"(?:[，,]?\s*并?(?:写|保存|存|放)?(?:到|入|进|成|为|至))"
_SUM = r"(?:summari[sz]e|sum up|(?:make|write) a summary of)"
_STOP = r"(?:stop|cancel|abort)"
_ZH_STOP = r"(?:停止|停下|取消|中止|终止)"
_ZH_SUM = r"(?:总结|概括|归纳|摘要)(?:一下)?"

_PATTERNS: tuple[tuple[Verb, str], ...] = (
    ("list_files", r"(?:list|show)(?: me)?(?: all)?(?: the| my)? files"),
    ("list_files", rf"(?:list|show)(?: me)?(?: all)?(?: the| my)? files (?:in|under|of) (?:the folder )?{_SOURCE}"),
    ("list_files", r"(?:what|which) files (?:are there|do i have|are here)|ls"),
    (
        "list_tasks",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my)? tasks|tasks|what is in progress|(?:what|which) tasks .*",
    ),
    ("show_task", rf"(?:show|open|get|read)(?: me)?(?: the)? task {_SOURCE}"),
    ("show_task", r"(?:show|open|get)(?: me)?(?: the)? task (?P<text>.+)"),
    ("show_task", r"(?:how is|what about|status of)(?: the| my)? task (?P<text>.+?)(?: doing| going)?"),
    ("stop_task", rf"{_STOP} (?:that|it|this|(?:the|that|this)(?: last)? task)"),
    ("stop_task", rf"{_STOP}(?: the| my)? task (?P<text>.+)"),
    ("append", rf"(?:append|add) {_TEXT} to (?:the end of )?{_FILE_WORD}{_TARGET}"),
    ("write", rf"(?:write|put|save) {_TEXT} (?:in)?(?:to| in) {_FILE_WORD}{_TARGET}"),
    ("write", rf"(?:write|save) {_TEXT} (?:in|as) {_FILE_WORD}{_TARGET}"),
    ("write", rf"create {_FILE_WORD}{_TARGET} with(?: the)?(?: text| content| contents)? {_TEXT}"),
    ("copy", rf"copy {_FILE_WORD}{_SOURCE}{_INTO} {_FILE_WORD}{_TARGET}"),
    ("summarise", rf"{_SUM} {_FILE_WORD}{_SOURCE}{_INTO} {_FILE_WORD}{_TARGET}"),
    ("summarise", rf"{_SUM} {_FILE_WORD}{_SOURCE}"),
    ("read", rf"(?:read|show|open|print|display|cat)(?: me)? (?:the contents? of )?{_FILE_WORD}{_FILE}"),
    ("list_tasks", r"(?:任务列表|我的任务|(?:列出|显示|查看|看看?)(?:所有|全部|我的)*任务|有哪些任务|有什么任务)"),
    ("list_files", r"(?:文件列表|(?:列出|显示|查看|看看?)(?:所有|全部|我的)*文件|有哪些文件|有什么文件)"),
    ("list_files", rf"(?:列出|显示|查看)\s*{_SOURCE}\s*(?:文件夹|目录)?(?:中|里|下|里面)?的?(?:所有)?文件"),
    ("show_task", r"(?:显示|查看|打开|看看?)任务\s*(?P<text>.+)"),
    ("show_task", r"任务\s*(?P<text>.+?)\s*(?:怎么样了?|的?状态|的?进展)(?:如何)?"),
    ("stop_task", rf"{_ZH_STOP}\s*(?:它|这个任务|那个任务|这个|那个|该任务|任务)"),
    ("stop_task", rf"{_ZH_STOP}\s*任务\s*(?P<text>.+)"),
    ("append", rf"(?:把|将)?\s*{_TEXT}\s*(?:追加|添加|加)(?:到|进|入)\s*{_TARGET}\s*(?:的?末尾|后面)?"),
    ("append", rf"在\s*{_TARGET}\s*(?:的?末尾|后面|中|里)?\s*(?:追加|添加)\s*{_TEXT}"),
    ("append", rf"(?:追加|添加)\s*{_TEXT}\s*(?:到|进|入)\s*{_TARGET}\s*(?:的?末尾|后面)?"),
    ("write", rf"(?:把|将)?\s*{_TEXT}\s*(?:写|保存|存)(?:到|进|入|为)\s*{_TARGET}"),
    ("write", rf"写\s*{_TEXT}\s*(?:到|进|入)\s*{_TARGET}"),
    ("write", rf"在\s*{_TARGET}\s*(?:中|里)?\s*写(?:入|上|下)?\s*{_TEXT}"),
    ("copy", rf"(?:把|将)\s*{_SOURCE}\s*(?:复制|拷贝){_ZH_INTO}\s*{_TARGET}"),
    ("copy", rf"(?:复制|拷贝)\s*{_SOURCE}\s*{_ZH_INTO}\s*{_TARGET}"),
    ("summarise", rf"(?:把|将)\s*{_SOURCE}\s*(?:的内容)?{_ZH_SUM}{_ZH_INTO}\s*{_TARGET}"),
    ("summarise", rf"{_ZH_SUM}\s*{_SOURCE}\s*(?:的内容)?{_ZH_INTO}\s*{_TARGET}"),
    ("summarise", rf"(?:把|将)\s*{_SOURCE}\s*(?:的内容)?{_ZH_SUM}"),
    ("summarise", rf"{_ZH_SUM}\s*{_SOURCE}(?:的内容)?"),
    ("read", rf"(?:读取|读|显示|查看|打开|看看?)(?:一下)?(?:文件)?\s*{_FILE}\s*(?:的内容)?"),
)
_COMPILED = tuple((verb, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for verb, pattern in _PATTERNS)
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|twin|please|kindly|now|could you|can you|would you|will you|i want you to"
    r"|(?:hand over|delegate|start|create|do)(?: this| a)? tasks?(?: to)?\b|in the background\b"
    r"|你好|请你?|麻烦你?|帮我|帮忙|现在|(?:交给|新建|创建)(?:一个)?任务|在后台)[\s,，:：]*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(r"(?:please|thanks|thank you|for me|in the background|谢谢|吧|好吗)\Z", re.IGNORECASE)
_TAIL_MARKS = " \t\r\n,，.!?。！？"
_BLANKS = re.compile(r"\s{50}")
_MEANS_ATTACHMENT = re.compile(_THIS, re.IGNORECASE)


def parse(text: str) -> Request | None:
    """Understand a request, None when it is not one of the grammar's or longer than `REQUEST_CHARACTERS`."""
    # Long runs of blanks are what the patterns' optional blanks would divide among themselves in all ways.
    if len(text) > REQUEST_CHARACTERS or _BLANKS.search(text):
        return None
    plain = plain_request(text)
    for verb, pattern in _COMPILED:
        if found := pattern.fullmatch(plain):
            groups = found.groupdict()
            return Request(
                verb,
                source=unquoted(groups.get("source")),
                target=unquoted(groups.get("target")),
                text=_text(verb, groups),
            )
    return None


def plain_request(text: str) -> str:
    """A request without greetings, thanks and the marks at its end."""
    plain = _POLITE.sub("", text.strip()).rstrip(_TAIL_MARKS)
    return _TAIL.sub("", plain).rstrip(_TAIL_MARKS)


def _text(verb: Verb, groups: Mapping[str, str | None]) -> str | None:
    """The text that is written as it stands, or the name of a task without its quotes."""
    if verb in ("show_task", "stop_task"):
        return unquoted(groups.get("text") or groups.get("source"))
    return groups.get("text")


def means_attachment(source: str) -> bool:
    """Whether a file is named only as "this": the one attachment of the message is meant."""
    return _MEANS_ATTACHMENT.fullmatch(source.strip()) is not None


def instruction(request: Request, language: Language) -> str:
    """Say a request that is handed over in words that `parse` reads as the same request."""
    source, target = quoted(request.source or ""), quoted(request.target or "")
    if request.verb == "copy":
        return f"复制 {source} 到 {target}" if language == "zh" else f"copy {source} to {target}"
    if request.target is None:
        return f"总结 {source}" if language == "zh" else f"summarise {source}"
    return f"总结 {source} 到 {target}" if language == "zh" else f"summarise {source} into {target}"


def quoted(name: str) -> str:
    """The name as the grammar reads it back: in quotes unless it is a plain word."""
    if re.fullmatch(r"[\w./-]*[\w/]", name, re.ASCII):
        return name
    opening, closing = next((pair for pair in _QUOTES if pair[0] not in name and pair[1] not in name), _QUOTES[0])
    return f"{opening}{name}{closing}"


def unquoted(name: str | None) -> str | None:
    """The name without the quotes that a person put around it."""
    if name is None:
        return None
    for opening, closing in _QUOTES:
        if len(name) > 2 and name[0] == opening and name[-1] == closing:
            return name[1:-1]
    return name
