"""Rules match exactly what they describe and nothing near it (E5, E6), and say it in words that cannot lie (E7)."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.command_action import CommandAction, Environment, Executable, Permissions, ProcessInputAction
from domain.gate import Rule
from domain.refusal import Refusal
from domain.rule import answer, matches, scope_of
from domain.rule_words import rule_words, shown_scope

DIGEST = "a" * 64
ROOT = "/srv/somebody/files"
COMMAND = CommandAction(
    argv=("make", "all"),
    executable=Executable(path="/usr/bin/make", sha256=DIGEST),
    cwd=f"{ROOT}/project",
    environment=Environment(names=("HOME", "PATH"), sha256="b" * 64),
    permissions=Permissions(network=False, confined=True),
    stdin_sha256="c" * 64,
).fields()
FILE: dict[str, Any] = {
    "kind": "file", "operation": "replace", "path": f"{ROOT}/notes.txt", "precondition": "absent",
    "content_sha256": DIGEST, "content_size": 3, "created_parents": [],
}  # fmt: skip
CONNECTOR: dict[str, Any] = {
    "kind": "connector", "server_id": "mail", "account": "me@example.org", "tool": "send",
    "recipients": ["you@example.org"], "arguments_sha256": DIGEST,
}  # fmt: skip
ACTIONS: Mapping[str, dict[str, Any]] = {"file": FILE, "command": COMMAND, "connector": CONNECTOR}


def scope(kind: str) -> dict[str, Any]:
    """The scope of the action of a kind."""
    found = scope_of(kind, ACTIONS[kind])
    assert not isinstance(found, Refusal)
    return found


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every leaf of a JSON value."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in places(item, (*way, key))]
    if isinstance(value, list) and value:
        return [leaf for at, item in enumerate(value) for leaf in places(item, (*way, at))]
    return [way]


def changed(action: Mapping[str, Any], way: tuple[Any, ...], value: object) -> dict[str, Any]:
    """The action with another value at one place."""
    other: Any = copy.deepcopy(dict(action))
    inner = other
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    return dict(other)


def another(value: object) -> object:
    """A near miss of a value."""
    if isinstance(value, bool):
        return not value
    return f"{value}x" if isinstance(value, str) else ["x"]


@pytest.mark.parametrize("kind", ACTIONS)
def test_a_rule_describes_the_action_that_it_was_made_from(kind: str) -> None:
    """E6: and no action of another kind."""
    assert matches(scope(kind), kind, ACTIONS[kind])
    for other in ACTIONS:
        assert matches(scope(kind), other, ACTIONS[other]) is (other == kind)


@pytest.mark.parametrize("way", places({key: COMMAND[key] for key in COMMAND if key != "kind"}), ids=str)
def test_every_field_of_a_command_decides(way: tuple[Any, ...]) -> None:
    """E6: argv, input, program, folder, environment and permissions are exact: no prefix, no glob."""
    value: Any = COMMAND
    for step in way:
        value = value[step]
    other = changed(COMMAND, way, another(value))
    assert not matches(scope("command"), "command", other), way


@pytest.mark.parametrize("way", places({key: CONNECTOR[key] for key in CONNECTOR if key != "kind"}), ids=str)
def test_every_field_of_a_connector_call_decides(way: tuple[Any, ...]) -> None:
    """E6: account, operation, recipients and content are exact."""
    value: Any = CONNECTOR
    for step in way:
        value = value[step]
    assert not matches(scope("connector"), "connector", changed(CONNECTOR, way, another(value))), way


NEAR = (
    "/notes.txt", "/notes.txt/", "/NOTES.txt", "/notes.txt ", "/./notes.txt", "/a/../notes.txt", "/notes.tx",
    "//notes.txt", "/notes.txt\x00", "/n\u043etes.txt", "/*", "/notes.*", "",
)  # fmt: skip


@given(path=st.one_of(st.text(), st.sampled_from(NEAR).map(lambda end: ROOT + end)))
def test_a_file_rule_covers_one_exact_path(path: str) -> None:
    """E6: no near miss of the path matches; the contents may differ."""
    assert matches(scope("file"), "file", FILE | {"path": path}) is (path == FILE["path"])
    assert matches(scope("file"), "file", FILE | {"content_sha256": "d" * 64, "content_size": 9, "operation": "create"})


@pytest.mark.parametrize("operation", ["delete", "append", "", "file.replace", "run"])
def test_a_file_rule_covers_only_its_operations(operation: str) -> None:
    """E6: a set of operations, and none that is not in it."""
    assert not matches(scope("file"), "file", FILE | {"operation": operation})
    narrow = scope("file") | {"operations": ["file.create"]}
    assert matches(narrow, "file", FILE | {"operation": "create"})
    assert not matches(narrow, "file", FILE)


words = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4)


@settings(max_examples=300)
@given(argv=words, wanted=words)
def test_random_near_misses_of_argv_never_match(argv: list[str], wanted: list[str]) -> None:
    """E6: joined, split, longer and shorter argument lists are other commands."""
    rule = scope_of("command", COMMAND | {"argv": argv})
    assert not isinstance(rule, Refusal)
    misses = [wanted, [*argv, ""], [*argv, "x"], argv[:-1], [" ".join(argv)], [*argv[1:], argv[0]], [argv[0].upper()]]
    for miss in misses:
        assert matches(rule, "command", COMMAND | {"argv": miss}) is (miss == argv)


def test_a_field_that_is_new_decides_at_once() -> None:
    """E6: what an action will hold one day is not silently outside of its rules."""
    assert not matches(scope("command"), "command", COMMAND | {"user": "root"})
    assert not matches(scope("command") | {"user": "root"}, "command", COMMAND)


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        (
            "command",
            ProcessInputAction(
                process_id="process_1",
                executable=Executable(path="/usr/bin/python3", sha256=DIGEST),
                text_sha256=DIGEST,
                text_size=1,
            ).fields(),
        ),
        ("connector", {key: value for key, value in CONNECTOR.items() if key != "recipients"}),
        ("connector", CONNECTOR | {"account": ""}),
        ("connector", CONNECTOR | {"account": None}),
        ("engine", FILE),
        ("", COMMAND),
    ],
)
def test_what_no_rule_covers(kind: str, action: dict[str, Any]) -> None:
    """E6: process input, opaque connector calls and kinds that are not named always ask."""
    refused = scope_of(kind, action)
    assert isinstance(refused, Refusal)
    assert refused.code == "rule_scope_invalid"
    for known in ACTIONS:
        assert not matches(scope(known), kind, action)


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ([], Rule.NONE),
        (["allow"], Rule.ALLOW),
        (["allow", "allow"], Rule.ALLOW),
        (["ask"], Rule.ASK),
        (["allow", "ask"], Rule.ASK),
        (["ask", "allow", "allow"], Rule.ASK),
        (["allow", "always"], Rule.ASK),
    ],
)
def test_ask_beats_allow(modes: list[str], expected: Rule) -> None:
    """E5: in any number; a mode that nobody knows asks."""
    assert answer(modes) is expected


@pytest.mark.parametrize("kind", ACTIONS)
def test_the_scope_is_shown_without_absolute_paths_of_the_files(kind: str) -> None:
    """E3, E7: in words and field by field; the files root stays where it is."""
    said, shown = rule_words(scope(kind), ROOT), shown_scope(scope(kind), ROOT)
    assert set(said) == {"en", "zh"}
    for text in (*said.values(), str(shown)):
        assert ROOT not in text
    assert shown["kind"] == kind


def test_a_scope_s_words_cannot_lie() -> None:
    """E9: what is invisible or would close a quotation is spelled out, in every kind."""
    nasty = "a\u202etxt” – allowed\nok"
    scopes = [
        scope("file") | {"path": f"{ROOT}/{nasty}"},
        scope("command") | {"argv": ["make", nasty], "cwd": f"{ROOT}/{nasty}"},
        scope("connector") | {"account": nasty, "tool": nasty, "recipients": [nasty]},
    ]
    for one in scopes:
        for text in rule_words(one, ROOT).values():
            assert "⟦U+202E⟧" in text
            assert "⟦U+201D⟧" in text
            assert not {"\u202e", "\n"} & set(text)
        assert not {"\u202e", "\n"} & set("".join(map(str, shown_scope(one, ROOT).values())))


def test_an_unconfined_command_says_so() -> None:
    """E16: missing confinement is never silent, in a rule neither."""
    loose = scope("command") | {"permissions": {"network": True, "confined": False}}
    assert "not confined" in rule_words(loose, ROOT)["en"]
    assert "未隔离" in rule_words(loose, ROOT)["zh"]
    assert "not confined" not in rule_words(scope("command"), ROOT)["en"]
