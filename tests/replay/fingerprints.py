"""The commands of each workflow source in order, read from its syntax tree: what a replay depends on.

`python -m tests.replay.fingerprints` writes them to fingerprints.json. The hard thing is being strict enough to see a
moved call and lax enough to let a summary, a time-out or a name change.
"""

import ast
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = Path(__file__).with_name("fingerprints.json")

CALLS = frozenset({
    "shared", "on_any_worker", "on_files", "on_host", "model_step", "tool_call", "start", "tell", "agent_loop",
})  # fmt: skip
"""Functions of this project that issue commands for their caller."""

COMMANDS = frozenset({
    "execute_activity", "execute_activity_method", "execute_local_activity", "execute_local_activity_method",
    "start_activity", "start_activity_method", "start_local_activity", "start_local_activity_method",
    "start_child_workflow", "execute_child_workflow", "get_external_workflow_handle", "continue_as_new", "sleep",
    "wait_condition", "upsert_search_attributes", "upsert_memo", "patched", "deprecate_patch", "uuid4", "random",
})  # fmt: skip
"""Functions of `temporalio.workflow` that write history, or whose order decides what is written."""

DECISIVE_KEYWORDS = frozenset({"timeout", "task_queue"})
"""A keyword whose presence changes the command: a wait with a time-out starts a timer."""


def fingerprints() -> dict[str, list[str]]:
    """The commands of every file in workflows/, by its path from the root."""
    sources = sorted((ROOT / "workflows").glob("*.py"))
    found = {source.relative_to(ROOT).as_posix(): commands(source.read_text(encoding="utf-8")) for source in sources}
    return {path: lines for path, lines in found.items() if lines}


def commands(source: str) -> list[str]:
    """The commands of one source in the order in which they are written: `where: what`, and in which loop or branch."""
    reader = _Reader()
    reader.visit(ast.parse(source))
    return reader.lines


class _Reader(ast.NodeVisitor):
    """Walks a module and notes each call that makes a command, with the way to it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._way: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node.name, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._inside(node.name, node.body)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._inside("while", [*node.body, *node.orelse])

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._inside("if", node.body)
        self._inside("else", node.orelse)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._inside("except", node.body)

    def visit_Call(self, node: ast.Call) -> None:
        # Arguments are evaluated before the call that takes them.
        self.generic_visit(node)
        name = _command(node.func)
        if name is not None:
            shown = [_shown(argument) for argument in node.args[:1]]
            shown += sorted(f"{word.arg}=" for word in node.keywords if word.arg in DECISIVE_KEYWORDS)
            self.lines.append(f"{'.'.join(self._way)}: {name}({', '.join(part for part in shown if part)})")

    def _inside(self, name: str, body: list[ast.stmt]) -> None:
        self._way.append(name)
        for statement in body:
            self.visit(statement)
        self._way.pop()


def _command(function: ast.expr) -> str | None:
    if isinstance(function, ast.Name) and function.id in CALLS:
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.value.id == "workflow" and function.attr in COMMANDS:
            return f"workflow.{function.attr}"
        if function.value.id == "handle" and function.attr in ("signal", "cancel"):
            return f"handle.{function.attr}"
    return None


def _shown(argument: ast.expr) -> str:
    """The first argument where it says which command it is: an activity, what is started, what is told."""
    if isinstance(argument, ast.Call):
        return ast.unparse(argument.func)
    return ast.unparse(argument) if isinstance(argument, ast.Attribute | ast.Constant) else ""


def main() -> None:
    """Write the present fingerprints."""
    COMMITTED.write_text(f"{json.dumps(fingerprints(), indent=1)}\n", encoding="utf-8")
    sys.stdout.write(f"{COMMITTED.name} written\n")


if __name__ == "__main__":
    main()
