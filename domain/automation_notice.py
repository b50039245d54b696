"""What an automation's notice says (U6, U7): why it did not run or has paused itself, and what the person can do."""

from collections.abc import Mapping
from typing import Final

from domain.automation_firing import Reason

Words = Mapping[str, str]
Choices = Mapping[str, tuple[str, ...]]

_ENDED: Final[Words] = {
    "en": "This automation did not run, because the permission that it was given has ended: it has expired, was "
    "revoked, or is no longer honoured by who issued it. Its coming times are left out too, without another message, "
    "until you allow it again.",
    "zh": "这个自动任务没有运行，因为给它的授权已经结束：过期、被撤销，或签发方不再认可。"
    "在你重新授权之前，之后的时间也会被跳过，不再另行通知。",
}
_FAILED: Final[Words] = {
    "en": "This automation has failed several times in a row and has paused itself. It will not run again until you "
    "resume it.",
    "zh": "这个自动任务连续多次失败，已自行暂停。在你恢复它之前不会再运行。",
}
_AFTER_END: Final[Choices] = {
    "en": ("allow it again, beside the automation or by `steward grants issue`", "pause or delete the automation"),
    "zh": ("在自动任务旁或用 `steward grants issue` 重新授权", "暂停或删除这个自动任务"),
}
_AFTER_FAILURES: Final[Choices] = {
    "en": ("look at its last runs", "change what it does, then resume it", "or delete it"),
    "zh": ("查看最近几次运行", "修改它的内容后恢复", "或者删除它"),
}


def notice_words(reason: str | None) -> Words:
    """The notice about a firing, by the reason of that firing: the permission has ended, else it paused itself."""
    return _ENDED if reason == Reason.AUTHORIZATION.value else _FAILED


def notice_choices(reason: str | None) -> Choices:
    """What the person can do then."""
    return _AFTER_END if reason == Reason.AUTHORIZATION.value else _AFTER_FAILURES
