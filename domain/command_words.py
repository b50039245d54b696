"""What the card of a command says (E9, E16): what runs where, how confined, and the whole of it on demand.

A command is text that a model wrote. Everything in it that could hide, reorder or close a quotation is spelled out, and
what Steward says about confinement stands in a sentence of its own that no argument can reach.
"""

import shlex
from collections.abc import Sequence
from typing import Final

from domain.command_action import CommandAction, CommandInput
from domain.visible_text import make_visible

SHOWN_CHARACTERS: Final = 200
_QUOTES: Final = {ord("“"): "⟦U+201C⟧", ord("”"): "⟦U+201D⟧"}
_OWN_FOLDER: Final = {"en": "the files folder", "zh": "文件夹根目录"}


def shown_command(argv: Sequence[str]) -> str:
    """The whole command on one line, quoted as a shell would need it, nothing in it invisible."""
    return make_visible(shlex.join(argv), keep="").translate(_QUOTES)


def command_words(action: CommandAction, folder: str) -> dict[str, str]:
    """Say what will run, by language; `folder` is the working folder relative to the files root, empty for the root."""
    shown = _short(shown_command(action.argv))
    place = make_visible(folder, keep="").translate(_QUOTES)
    english, chinese = _limits(action)
    return {
        "en": f"Run “{shown}” in {f'“{place}/”' if place else _OWN_FOLDER['en']} – {english}.",
        "zh": f"在{f'“{place}/”' if place else _OWN_FOLDER['zh']}运行“{shown}”——{chinese}。",
    }


def command_impact(action: CommandAction, given: CommandInput, added: Sequence[str]) -> dict[str, str]:
    """Say what the command can reach and what it is given, by language; `added` are the names beyond the usual ones."""
    if action.permissions.confined:
        english = "It can change what is in the files folder and nothing else; Steward's own state is hidden from it."
        chinese = "它只能改动文件夹里的内容；Steward 自身的数据对它不可见。"
    else:
        english = "It is not confined: it can read, change and send whatever the user that Steward runs as can."
        chinese = "没有隔离：运行 Steward 的用户能读取、改动和发送的一切，它都能。"
    if added:
        names = ", ".join(added)
        english += f" Sets the environment variable{'s' if len(added) > 1 else ''} {names}."
        chinese += f"设置环境变量 {names}。"
    if given.stdin:
        size = len(given.stdin.encode())
        english += f" Is given {size} bytes to read."
        chinese += f"提供 {size} 字节输入。"
    if action.interactive:
        english += " Stays open for input until the work that started it ends."
        chinese += "在发起它的工作结束之前保持打开，等待输入。"
    else:
        english += f" Is ended after {_duration(given.timeout_s)}."
        chinese += f"最长 {given.timeout_s} 秒，超时即终止。"
    return {"en": english, "zh": chinese}


def command_details(action: CommandAction, folder: str, program: str, given: CommandInput, added: Sequence[str]) -> str:
    """The whole command as plain text, every character of it visible (E9): what a person reads before allowing it.

    Args:
        action: what would run.
        folder: working folder relative to the files root.
        program: the resolved program as it may be shown.
        given: its values.
        added: names of the environment beyond the usual ones.
    """
    lines = [
        shown_command(action.argv),
        "",
        f"folder: {make_visible(folder, keep='') or '.'}",
        f"program: {make_visible(program, keep='')}",
        f"SHA-256: {action.executable.sha256}",
        f"confined: {'yes' if action.permissions.confined else 'no'}",
        f"network: {'yes' if action.permissions.network else 'no'}",
    ]
    lines += [f"environment: {name}={make_visible(given.environment[name], keep='')}" for name in added]
    if given.stdin:
        lines += ["standard input:", *(f"| {make_visible(line)}" for line in given.stdin.split("\n"))]
    return "\n".join(lines)


def input_words(argv: Sequence[str], text: str) -> dict[str, str]:
    """Say what will be sent to which running command, by language."""
    running, sent = _short(shown_command(argv)), _short(make_visible(text, keep="").translate(_QUOTES))
    if not text:
        return {"en": f"Read on from the running command “{running}”.", "zh": f"继续读取正在运行的命令“{running}”。"}
    return {
        "en": f"Send “{sent}” to the running command “{running}”.",
        "zh": f"向正在运行的命令“{running}”发送“{sent}”。",
    }


def input_impact(size: int) -> dict[str, str]:
    """Say that the command does what it does with the text, by language; `size` in bytes."""
    return {
        "en": f"{size} bytes. The command acts on them under the limits that were allowed when it was started.",
        "zh": f"{size} 字节。命令在启动时所允许的限制内处理它们。",
    }


def input_details(argv: Sequence[str], text: str) -> str:
    """The running command and the whole text, every character visible."""
    return "\n".join([shown_command(argv), "", *(f"| {make_visible(line)}" for line in text.split("\n"))])


def _limits(action: CommandAction) -> tuple[str, str]:
    if not action.permissions.confined:
        return "not confined, with network", "未隔离，可用网络"
    network = action.permissions.network
    return f"confined, {'with' if network else 'no'} network", f"已隔离，{'可用' if network else '无'}网络"


def _short(shown: str) -> str:
    if len(shown) <= SHOWN_CHARACTERS:
        return shown
    # Whole spelled-out characters only: half of one would say something else.
    cut = shown[:SHOWN_CHARACTERS]
    opened = cut.rfind("⟦")
    cut = cut[:opened] if opened > cut.rfind("⟧") else cut
    return f"{cut}… (+{len(shown) - len(cut)})"


def _duration(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
