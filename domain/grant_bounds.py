"""Bounds that are proposed (A10, A11): exactly one effect's, or what a text asks for by name; and their words.

The hard thing is to ask for no more than was asked for: a text that names files gets those, and only a text that names
none gets the files folder, in words that say so.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from domain.effect_scope import FILE_ACTIONS
from domain.file_paths import parse_relative
from domain.grant import Bounds, Execution, Resource
from domain.refusal import Refusal
from domain.visible_text import make_visible

Words = dict[str, str]
_NAME = re.compile(r"[^\s\"'`“”‘’「」『』《》()\[\]{}<>,;:!?，。；：！？、（）【】〈〉…|]+")
_FILE = re.compile(r".*[^./]\.[A-Za-z0-9]{1,10}")
_ASCII_FILE = re.compile(r"[A-Za-z0-9_./-]*[A-Za-z0-9_-]\.[A-Za-z0-9]{1,10}", re.ASCII)
MOST_PATHS = 20


@dataclass(frozen=True, slots=True)
class Owner:
    """Who grants: fixed at the admission (A1, A8)."""

    issuer: str
    tenant: str
    subject: str


def named_paths(text: str) -> tuple[str, ...]:
    """The files that a text names, relative to the files root, in order and without repeats; at most `MOST_PATHS`.

    A pattern names no file: a grant knows none, and whoever reads `*.py` in its words believes that all are covered.
    """
    found: dict[str, None] = {}
    for word in _NAME.findall(text):
        for name in _names_in(word.rstrip(".")):
            parts = parse_relative(name)
            if "*" not in name and not isinstance(parts, Refusal):
                found.setdefault("/".join(parts))
    return tuple(found)[:MOST_PATHS]


def _names_in(word: str) -> list[str]:
    """The file that a word is, or those whose names stand in the middle of text that is written without spaces."""
    if _FILE.fullmatch(word):
        return [word]
    return [] if word.isascii() else _ASCII_FILE.findall(word)


def exact_bounds(owner: Owner, execution: Execution, issued_at: datetime, expires_at: datetime) -> Bounds:
    """The bounds of exactly one effect (A10)."""
    return Bounds(
        issuer=owner.issuer, tenant=owner.tenant, subject=owner.subject,
        user_space=execution.user_space, domain=execution.domain, agent_id=execution.agent_id,
        actions=frozenset({execution.action}), resources=execution.resources, models=frozenset({execution.model}),
        engines=frozenset({execution.engine}), permission_ceiling=execution.permission_mode,
        issued_at=issued_at, expires_at=expires_at,
    )  # fmt: skip


def file_resources(root: str, paths: Sequence[str]) -> frozenset[Resource]:
    """The named files below the files root, or the whole folder where none is named."""
    if not paths:
        return frozenset({Resource(kind="path", value=root)})
    return frozenset(Resource(kind="path", value=str(PurePosixPath(root, path))) for path in paths)


def file_words(paths: Sequence[str]) -> Words:
    """What file bounds allow, in words, by language (A11)."""
    if not paths:
        return {
            "en": "Create and change any file in your files folder.",
            "zh": "新建和修改文件夹中的任何文件。",
        }
    names = [make_visible(path, keep="") for path in paths]
    return {
        "en": f"Create and change {', '.join(f'“{name}”' for name in names)}.",
        "zh": f"新建和修改{'、'.join(f'“{name}”' for name in names)}。",
    }


def effect_words(resources: Iterable[Resource], words: Words) -> Words:
    """What the bounds of one effect allow, in words, by language (A10).

    A path is as exact as its card. A command's bounds name its program only, so the words say that, and not the one
    command that happened to ask: whoever reads them must not believe that less is granted than is.
    """
    programs = [PurePosixPath(one.value).name for one in resources if one.kind == "command"]
    if not programs:
        return dict(words)
    names = [make_visible(name, keep="") for name in programs]
    return {
        "en": f"Run the program {', '.join(f'“{name}”' for name in names)}, with whatever arguments. "
        "Each command is still decided by itself.",
        "zh": f"运行程序{'、'.join(f'“{name}”' for name in names)}，参数不限。每条命令仍会单独决定。",
    }


FILE_WORK = frozenset(FILE_ACTIONS)
