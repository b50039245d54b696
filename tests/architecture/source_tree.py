"""The source files under test, and what their syntax trees say."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "domain", "contracts", "workflows", "activities", "store", "assistant", "adapters", "engines", "knowledge",
    "runtime", "host",
)  # fmt: skip


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file that is committed or about to be, as Git lists them."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def python_files(*packages: str) -> list[Path]:
    """The Python files of some packages, of all packages when none is named."""
    chosen = packages or PACKAGES
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and (parts := path.relative_to(ROOT).parts)[0] in chosen and len(parts) > 1
    ]


def place(path: Path, node: ast.AST | None = None) -> str:
    """Where something is, for the message of a failing test."""
    name = path.relative_to(ROOT).as_posix()
    return name if node is None else f"{name}:{getattr(node, 'lineno', 0)}"


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def calls(module: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Every call with its name as written, such as `workflow.execute_activity`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield dotted(node.func), node


def dotted(node: ast.expr) -> str:
    """The dotted name of an expression; empty where it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def imported(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every imported module or name, such as `datetime.datetime`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)
