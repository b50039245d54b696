"""What a rule's scope says to a person (E7, E9): in words in both languages, and field by field, with shown paths only.

Whatever a reader could not see is spelled out and quotation marks are too, so that no name can end its quotation.
"""

import shlex
from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue

from domain.effect import EffectKind
from domain.shown_path import below_root
from domain.visible_text import make_visible

_QUOTES: Final = {ord("“"): "⟦U+201C⟧", ord("”"): "⟦U+201D⟧"}


def rule_words(scope: Mapping[str, Any], root: str) -> dict[str, str]:
    """Say what a rule with this scope covers, by language; `root` is the files root, which is not named."""
    if scope["kind"] == EffectKind.FILE:
        name = _shown(below_root(scope["path"], root))
        return {
            "en": f"Creating the file “{name}” or replacing its content, whatever the new content is.",
            "zh": f"新建文件“{name}”或替换其内容，不论新内容是什么。",
        }
    if scope["kind"] == EffectKind.COMMAND:
        return _command(scope, root)
    tool, account = _shown(scope["tool"]), _shown(scope["account"])
    recipients = ", ".join(f"“{_shown(str(one))}”" for one in scope["recipients"])
    english = f" to {recipients}" if recipients else ""
    chinese = f"，发给{recipients}" if recipients else ""
    return {
        "en": f"Using “{tool}” with the account “{account}”{english}, with exactly this content.",
        "zh": f"用账户“{account}”执行“{tool}”{chinese}，内容须完全相同。",
    }


def shown_scope(scope: Mapping[str, Any], root: str) -> dict[str, JsonValue]:
    """The scope field by field as it may leave this machine: paths relative to the files root, all text visible."""
    if scope["kind"] == EffectKind.FILE:
        return {**scope, "path": _visible(below_root(scope["path"], root))}
    if scope["kind"] != EffectKind.COMMAND:
        return {name: _visible_value(value) for name, value in scope.items()}
    program = scope["executable"]
    return {
        "kind": scope["kind"],
        "argv": [_visible(word) for word in scope["argv"]],
        "program": {"path": _visible(below_root(program["path"], root)), "sha256": program["sha256"]},
        "folder": _visible(below_root(scope["cwd"], root)),
        "environment": _visible_value(scope["environment"]),
        "permissions": _visible_value(scope["permissions"]),
        "stdin_sha256": scope["stdin_sha256"],
        "interactive": scope["interactive"],
    }


def _command(scope: Mapping[str, Any], root: str) -> dict[str, str]:
    command, folder = _shown(shlex.join(scope["argv"])), below_root(scope["cwd"], root)
    where = "the files folder" if folder == "." else f"“{_shown(folder)}/”"
    where_zh = "文件夹根目录" if folder == "." else f"“{_shown(folder)}/”"
    permissions = scope["permissions"]
    network, network_zh = ("with network", "可用网络") if permissions["network"] else ("no network", "无网络")
    limits, limits_zh = (
        (f"confined, {network}", f"已隔离，{network_zh}")
        if permissions["confined"]
        else ("not confined, with network", "未隔离，可用网络")
    )
    return {
        "en": f"Running exactly “{command}” in {where} – {limits} – with this program file, environment and input.",
        "zh": f"在{where_zh}运行“{command}”，须完全相同——{limits_zh}——程序文件、环境变量和输入均不变。",
    }


def _shown(text: str) -> str:
    return _visible(text).translate(_QUOTES)


def _visible(text: str) -> str:
    return make_visible(text, keep="")


def _visible_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _visible(value)
    if isinstance(value, list):
        return [_visible_value(item) for item in value]
    return {_visible(key): _visible_value(item) for key, item in value.items()} if isinstance(value, dict) else value
