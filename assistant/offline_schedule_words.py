"""What the offline model says about automations, in English and Chinese (O2, U9). It is honest about what it is."""

from collections.abc import Iterable, Mapping
from typing import Final

from assistant.deliveries import Language

_EXAMPLES = "“every weekday at 8 in Berlin, summarise notes.txt into today.md”, “tomorrow at 9, copy a.txt to b.txt”"
_EXAMPLES_ZH = "“每个工作日 8 点总结 notes.txt 到 today.md”、“明天 9 点复制 a.txt 到 b.txt”"

_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "proposed": "I propose the automation “{title}”: {words}.",
        "proposed_move": "I propose other times for “{title}”: {words}.",
        "next": "Next times ({zone}): {times}.",
        "not_saved": "Nothing is saved yet: confirm it on its card, or by `steward automations confirm {proposal_id}`.",
        "title_write": "Write {target}",
        "title_append": "Append to {target}",
        "none": "There are no automations.",
        "listed": "Automations:",
        "line": "- {title} ({state}): {words}",
        "line_next": " Next: {time}.",
        "proposals": "Proposed, to be confirmed:",
        "more": "There are more.",
        "no_such": "I find no automation called “{name}”. “list automations” shows them.",
        "which": "Which automation do you mean?",
        "paused": "“{title}” is paused. What runs already goes on.",
        "deleted": "“{title}” is deleted. What runs already goes on.",
        "no_time": f"offline mode: at what time? Please say it exactly, for example {_EXAMPLES}.",
        "no_such_time": "offline mode: no clock shows that time. Please say it like “at 8”, “at 18:30” or “at 7 pm”.",
        "which_hour": "offline mode: I am not sure which hour that is, or of which day. Please say it like “at 2 am”, "
        "“at noon”, “at midnight” or “at 23:30”.",
        "no_such_day": "offline mode: there is no such day. Please say it like “tomorrow”, “2027-03-01” or “on the 1st "
        "of every month”.",
        "past": "offline mode: that time has passed. Please name a later one.",
        "unknown_place": "offline mode: I know no time zone for “{name}”. Please name a city of the zone tables, or "
        "the zone itself, such as Europe/Berlin.",
        "unsupported": "offline mode: I cannot put that into an exact schedule. I understand times like “every weekday "
        "at 8”, “every monday and friday at 9”, “every 15 minutes”, “on the first of every month at 7”, “tomorrow at "
        "9” and “in 20 minutes”.",
        "no_work": f"offline mode: what is to be done then? Please say it together, for example {_EXAMPLES}.",
        "other_work": "offline mode: only summarising, copying, writing and appending files can be scheduled, for "
        f"example {_EXAMPLES}.",
        "only_whole": "offline mode: “{title}” has no single time of the day to move. Please say the whole schedule, "
        "for example “move {title} to every monday at 9”.",
    },
    "zh": {
        "proposed": "我建议设立自动化“{title}”：{words}。",
        "proposed_move": "我建议更改“{title}”的时间：{words}。",
        "next": "接下来的时间（{zone}）：{times}。",
        "not_saved": "尚未保存：请在卡片上确认，或运行 `steward automations confirm {proposal_id}`。",
        "title_write": "写入 {target}",
        "title_append": "追加到 {target}",
        "none": "没有自动化。",
        "listed": "自动化：",
        "line": "- {title}（{state}）：{words}",
        "line_next": " 下次：{time}。",
        "proposals": "已建议，等待确认：",
        "more": "还有更多。",
        "no_such": "找不到名为“{name}”的自动化。“自动化列表”可以列出它们。",
        "which": "你指的是哪个自动化？",
        "paused": "“{title}”已暂停。正在进行的任务会继续。",
        "deleted": "“{title}”已删除。正在进行的任务会继续。",
        "no_time": f"离线模式：几点？请说出准确的时间，例如{_EXAMPLES_ZH}。",
        "no_such_time": "离线模式：没有这样的钟点。请这样说：“8 点”、“18:30”或“下午七点”。",
        "which_hour": "离线模式：我不确定那是哪一天的几点。请这样说：“凌晨两点”、“正午”、“零点”或“23:30”。",
        "no_such_day": "离线模式：没有这样的日子。请这样说：“明天”、“2027-03-01”或“每月 1 号”。",
        "past": "离线模式：这个时间已经过去，请说一个以后的时间。",
        "unknown_place": "离线模式：我不知道“{name}”的时区。请说出时区表中的城市，或时区本身，如 Europe/Berlin。",
        "unsupported": "离线模式：我无法把它变成准确的日程。我能理解的时间例如：“每个工作日 8 点”、"
        "“每周一和周五 9 点”、“每隔 15 分钟”、“每月 1 号 7 点”、“明天 9 点”和“20 分钟后”。",
        "no_work": f"离线模式：到时要做什么？请一起说出来，例如{_EXAMPLES_ZH}。",
        "other_work": f"离线模式：只有总结、复制、写入和追加文件可以定时进行，例如{_EXAMPLES_ZH}。",
        "only_whole": "离线模式：“{title}”没有单独的钟点可以更改。请说出完整的时间，例如“把 {title} 改到每周一 9 点”。",
    },
}


_WEEKDAYS_ZH: Final = {
    "Mon": "周一", "Tue": "周二", "Wed": "周三", "Thu": "周四", "Fri": "周五", "Sat": "周六", "Sun": "周日",
}  # fmt: skip


def say_schedule(key: str, language: Language, **values: str) -> str:
    """One of the sentences above with its values filled in."""
    return _WORDS[language][key].format(**values)


def say_times(times: Iterable[str], language: Language) -> str:
    """Times as the tools write them, “Tue 2026-12-01 08:00:00”, in a row."""
    if language != "zh":
        return "; ".join(times)
    return "；".join(_WEEKDAYS_ZH.get(time[:3], time[:3]) + time[3:] for time in times)
