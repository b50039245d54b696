"""What an approval card says (E9): what will be done and what it changes, in words, in both languages.

Names come from models and file systems: whatever a reader could not see in them is spelled out, so no card can lie.
"""

from domain.action import FileAction, FileOperation, FileVersion
from domain.visible_text import make_visible

LANGUAGES = ("en", "zh")
_UNITS = (("MB", 1024 * 1024), ("KB", 1024))


def file_words(action: FileAction, path: str) -> dict[str, str]:
    """Say what will be done to the file at `path` (relative to the files root), by language."""
    name = make_visible(path, keep="")
    if action.operation is FileOperation.CREATE:
        return {"en": f"Create the file “{name}”.", "zh": f"新建文件“{name}”。"}
    return {"en": f"Replace the content of the file “{name}”.", "zh": f"替换文件“{name}”的内容。"}


def file_impact(action: FileAction) -> dict[str, str]:
    """Say what the action changes, by language: sizes, what is lost, and which folders are made (E1)."""
    after, after_zh = _size(action.content_size), _size_zh(action.content_size)
    if isinstance(action.precondition, FileVersion):
        before, before_zh = _size(action.precondition.size), _size_zh(action.precondition.size)
        if action.precondition.sha256 == action.content_sha256:
            english, chinese = f"The content stays the same ({after}).", f"内容不变（{after_zh}）。"
        else:
            english = f"{before} before, {after} after. The old content is not kept."
            chinese = f"原 {before_zh}，新 {after_zh}。不保留旧内容。"
    else:
        english, chinese = f"A new file of {after}.", f"新文件，{after_zh}。"
    if action.created_parents:
        folders = [make_visible(folder, keep="") for folder in action.created_parents]
        english += f" Makes the folder{'s' if len(folders) > 1 else ''} {', '.join(f'“{name}”' for name in folders)}."
        chinese += f"同时新建文件夹{'、'.join(f'“{name}”' for name in folders)}。"
    return {"en": english, "zh": chinese}


def _size(size: int) -> str:
    for unit, factor in _UNITS:
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes" if size != 1 else "1 byte"


def _size_zh(size: int) -> str:
    words = _size(size)
    return f"{size} 字节" if words.endswith(("bytes", "byte")) else words
