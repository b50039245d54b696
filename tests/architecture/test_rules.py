"""Rules that neither ruff nor import-linter can see; each has a test that it catches a planted violation."""

import ast
import re
from collections.abc import Callable

import pytest

from tests.architecture.source_tree import ROOT, calls, dotted, imported, place, python_files, tracked_files, tree

LONGEST_FILE = 400
LONGEST_WORKER = 60
# A stand-in of the outside that is started alone, by itself.
LONG_BY_PURPOSE = frozenset({"tests/fake_model_server.py"})
# A migration is the record of one step: as long as the step, and never edited again.
RECORDS = "store/migrations/versions/"
PURE = ("domain", "workflows")

CLOCK_AND_CHANCE = re.compile(
    r"^((datetime\.)?datetime\.(now|utcnow|today)|(datetime\.)?date\.today|time\.\w+|(uuid\.)?uuid[14]|random\.\w+"
    r"|secrets\.\w+|os\.(environ.*|getenv|urandom)|open|io\.open)$"
)
# An interceptor's `super().execute_activity` is no call from a workflow.
ACTIVITY_CALL = re.compile(r"^((temporalio\.)?workflow\.)?(execute|start)_(local_)?activity(_class|_method)?$")


def clock_and_chance(module: ast.Module) -> list[ast.AST]:
    found: list[ast.AST] = [node for name, node in calls(module) if CLOCK_AND_CHANCE.match(name)]
    found += [node for name, node in imported(module) if name.split(".")[0] in {"random", "secrets", "time"}]
    found += [
        node for node in ast.walk(module) if isinstance(node, ast.Attribute) and dotted(node).startswith("os.environ")
    ]
    return found


def loops_over_sets(module: ast.Module) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in ast.walk(module):
        source = node.iter if isinstance(node, ast.For | ast.comprehension) else None
        if isinstance(source, ast.Set | ast.SetComp) or (
            isinstance(source, ast.Call) and dotted(source.func) in {"set", "frozenset"}
        ):
            found.append(source)
    return found


def activity_calls(module: ast.Module) -> list[ast.AST]:
    return [node for name, node in calls(module) if ACTIVITY_CALL.search(name)]


def untyped_application_errors(module: ast.Module) -> list[ast.AST]:
    return [
        node
        for name, node in calls(module)
        if name.rpartition(".")[2] == "ApplicationError" and not any(word.arg == "type" for word in node.keywords)
    ]


def patches(module: ast.Module) -> list[ast.AST]:
    return [node for name, node in calls(module) if name in {"workflow.patched", "workflow.deprecate_patch", "patched"}]


def swallowed_cancellations(module: ast.Module) -> list[ast.AST]:
    return [node for name, node in calls(module) if name in {"asyncio.wait_for", "wait_for"}]


RULES: dict[str, tuple[Callable[[ast.Module], list[ast.AST]], tuple[str, ...], str | None]] = {
    "no clock, chance, environment or file": (clock_and_chance, PURE, None),
    "no loop over a set, whose order differs between runs": (loops_over_sets, PURE, None),
    "activities are called in one place": (activity_calls, (), "workflows/activity_calls.py"),
    "every ApplicationError names its type": (untyped_application_errors, (), None),
    "patches are named in one place": (patches, (), "workflows/patches.py"),
    "no wait_for, which up to Python 3.11 can swallow a cancellation": (swallowed_cancellations, (), None),
}

PLANTED = {
    "no clock, chance, environment or file": [
        "datetime.now(UTC)", "datetime.datetime.utcnow()", "date.today()", "time.time()", "uuid4()", "uuid.uuid1()",
        "import random", "from random import choice", "os.environ['X']", "os.environ.get('X')", "os.getenv('X')",
        "open('x')",
    ],
    "no loop over a set, whose order differs between runs": [
        "for x in {1, 2}: pass", "[x for x in set(y)]", "for x in frozenset(y): pass",
    ],
    "activities are called in one place": [
        "workflow.execute_activity(a)", "workflow.start_local_activity_method(a)", "execute_activity_method(a)",
    ],
    "every ApplicationError names its type": ["ApplicationError('x')", "exceptions.ApplicationError('x', 1)"],
    "patches are named in one place": ["workflow.patched('x')"],
    "no wait_for, which up to Python 3.11 can swallow a cancellation": ["asyncio.wait_for(x, 1)", "wait_for(x, 1)"],
}  # fmt: skip
HARMLESS = (
    "workflow.uuid4()", "workflow.now()", "workflow.random().random()", "ApplicationError('x', type='y')",
    "for x in sorted(set(y)): pass", "super().execute_activity(given)", "workflow.execute_child_workflow(w)",
    "now.time()",
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rule_is_kept(rule: str) -> None:
    """I10, I9: what makes a workflow or a rule depend on anything but its input is not there."""
    check, packages, allowed = RULES[rule]
    found = [
        place(path, node) for path in python_files(*packages) if place(path) != allowed for node in check(tree(path))
    ]
    assert not found


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule, codes in PLANTED.items() for code in codes])
def test_rule_catches_a_violation(rule: str, code: str) -> None:
    """I10: each rule sees what it is there for."""
    assert RULES[rule][0](ast.parse(code))


@pytest.mark.parametrize("code", HARMLESS)
def test_rules_leave_the_allowed_alone(code: str) -> None:
    """I10: replayed time, chance and ids are no violation."""
    assert not [rule for rule in RULES if RULES[rule][0](ast.parse(code))]


def test_package_files_are_empty() -> None:
    """The sandbox runs package files again for each workflow, and nothing is re-exported through them."""
    filled = [place(path) for path in python_files() if path.name == "__init__.py" and path.read_bytes().strip()]
    assert not filled


def test_packages_have_their_file() -> None:
    """import-linter sees only folders with a package file."""
    folders = {path.parent for path in python_files()}
    assert not [place(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_files_are_short() -> None:
    """A file has one reason to exist; over 400 lines it has several."""
    counted = {".py", ".js", ".css", ".html"}
    long = [
        f"{place(path)}: {lines}"
        for path in tracked_files()
        if path.suffix in counted and place(path) not in LONG_BY_PURPOSE and not place(path).startswith(RECORDS)
        and (lines := path.read_text(encoding="utf-8").count("\n")) > LONGEST_FILE
    ]  # fmt: skip
    assert not long


def test_worker_only_wires() -> None:
    """architecture.md: the worker's file is too small to hold a rule."""
    for path in (path for path in tracked_files() if path == ROOT / "worker.py"):
        assert path.read_text(encoding="utf-8").count("\n") < LONGEST_WORKER
