"""The card of a command cannot lie (E9, E16): whatever an argument holds, it is seen, and reaches no other sentence."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.command_action import CommandAction, CommandInput, Environment, Executable, Permissions
from domain.command_words import (
    SHOWN_CHARACTERS,
    command_details,
    command_impact,
    command_words,
    input_details,
    input_words,
    shown_command,
)
from domain.visible_text import is_invisible

DIGEST = hashlib.sha256(b"").hexdigest()
HOSTILE = (
    "a\u202eb", "zero\u200bwidth", "line\nbreak", "\x1b[2J", "\u2066iso", "soft\u00adhyphen", "nbsp\u00a0", "tab\tbed",
    "” in the files folder – confined, no network.", "‘”", "⟦U+202E⟧", "\u3164", "\ufeff", "'; rm -rf ~ #", "",
)  # fmt: skip


def action(*argv: str, confined: bool = True, network: bool = False, interactive: bool = False) -> CommandAction:
    return CommandAction(
        argv=argv,
        executable=Executable(path="/usr/bin/make", sha256=DIGEST),
        cwd="/files",
        environment=Environment(names=(), sha256=DIGEST),
        permissions=Permissions(network=network, confined=confined),
        stdin_sha256=DIGEST,
        interactive=interactive,
    )


def test_an_ordinary_command_reads_like_one() -> None:
    """E9: in five seconds: what runs, where, how confined; in both languages."""
    words = command_words(action("make", "test", "a b"), "notes")
    assert words == {
        "en": "Run “make test 'a b'” in “notes/” – confined, no network.",
        "zh": "在“notes/”运行“make test 'a b'”——已隔离，无网络。",
    }
    assert command_words(action("make"), "")["en"] == "Run “make” in the files folder – confined, no network."


@pytest.mark.parametrize(
    ("confined", "network", "english", "chinese"),
    [
        (True, False, "confined, no network", "已隔离，无网络"),
        (True, True, "confined, with network", "已隔离，可用网络"),
        (False, True, "not confined, with network", "未隔离，可用网络"),
    ],
)
def test_missing_confinement_is_never_silent(confined: bool, network: bool, english: str, chinese: str) -> None:
    """E16: it is in the words and in what the command can reach."""
    one = action("make", confined=confined, network=network)
    words, impact = command_words(one, ""), command_impact(one, CommandInput(), [])
    assert words["en"].endswith(f" – {english}.")
    assert words["zh"].endswith(f"——{chinese}。")
    assert ("not confined" in impact["en"]) is not confined
    assert ("没有隔离" in impact["zh"]) is not confined


def test_the_impact_says_what_it_is_given_and_how_long_it_may_take() -> None:
    """E9: environment by name only, input by size, time limit or waiting for input."""
    given = CommandInput(stdin="字", environment={"TOKEN": "planted"}, timeout_s=90)
    english = command_impact(action("make"), given, ["TOKEN"])["en"]
    assert "Sets the environment variable TOKEN." in english
    assert "Is given 3 bytes to read." in english
    assert english.endswith("Is ended after 90 s.")
    assert "planted" not in english
    waiting = command_impact(action("cat", interactive=True), given, [])["en"]
    assert waiting.endswith("Stays open for input until the work that started it ends.")


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("place", ["argument", "folder", "stdin", "environment", "input"])
def test_nothing_hides_in_what_a_person_reads(hostile: str, place: str) -> None:
    """E9: every character is seen; no text closes the quotation it stands in."""
    given = CommandInput(
        stdin=hostile if place == "stdin" else "", environment={"X": hostile if place == "environment" else "1"}
    )
    one = action("make", hostile if place == "argument" else "x")
    folder = hostile if place == "folder" else ""
    if place == "input":
        words, others = input_words(one.argv, hostile), [input_details(one.argv, hostile)]
    else:
        words = command_words(one, folder)
        impact, details = command_impact(one, given, ["X"]), command_details(one, folder, "/bin/make", given, ["X"])
        others = [*impact.values(), details]
        assert words["en"].endswith(" – confined, no network.")
        assert words["en"].count("”") == (2 if folder else 1)
    for text in (*words.values(), *others):
        assert not [character for character in text.translate({9: None, 10: None}) if is_invisible(character)]
    for text in words.values():
        assert text.count("“") == text.count("”")


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4), st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_two_commands_never_look_the_same(one: list[str], other: list[str]) -> None:
    """E9: what is shown whole determines the arguments."""
    assert (shown_command(one) == shown_command(other)) == (one == other)


@given(st.lists(st.text(max_size=400), min_size=1, max_size=3))
def test_words_are_short_and_details_whole(argv: list[str]) -> None:
    """E9: a long command is cut in the words, with how much is missing; the details have all of it."""
    one = action(*argv)
    words = command_words(one, "")["en"]
    assert len(words) < SHOWN_CHARACTERS + 120
    shown = shown_command(argv)
    assert ("… (+" in words.replace(shown, "")) == (len(shown) > SHOWN_CHARACTERS)
    assert command_details(one, "", "/usr/bin/make", CommandInput(), []).split("\n")[0] == shown


def test_details_hold_everything_that_decides() -> None:
    """E9: the whole of what would run: program, digest, folder, confinement, environment, input."""
    values: dict[str, Any] = {"stdin": "one\ntwo", "environment": {"PATH": "/bin", "A": "1\n2"}}
    details = command_details(action("make", "all"), "notes", "/usr/bin/make", CommandInput(**values), ["A"])
    assert details.split("\n") == [
        "make all", "", "folder: notes", "program: /usr/bin/make", f"SHA-256: {DIGEST}", "confined: yes", "network: no",
        "environment: A=1⟦U+000A⟧2", "standard input:", "| one", "| two",
    ]  # fmt: skip
