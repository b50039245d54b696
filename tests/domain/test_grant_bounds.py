"""What is proposed: exactly what a text names, else the files folder in words that say so (A11)."""

from datetime import UTC, datetime

import pytest

from domain.grant import Bounds, Execution, Resource
from domain.grant_bounds import MOST_PATHS, Owner, effect_words, exact_bounds, file_resources, file_words, named_paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Write a summary to notes/summary.md, please.", ("notes/summary.md",)),
        ("把“报告.docx”整理成 out/总结.md。", ("报告.docx", "out/总结.md")),
        ('[[tool:write_file {"path":"a.txt","content":"x"}]]', ("a.txt",)),
        ("请把notes.txt改成out/b.md里的样子", ("notes.txt", "out/b.md")),
        ("把报告.docx整理好", ()),
        ("a.txt and `a.txt` and ./a.txt", ("a.txt",)),
        ("Look at https://example.org/a.txt and tell me", ()),
        ("../../etc/passwd.txt and /etc/hosts.txt", ()),
        ("Tidy up. Make it nice...", ()),
        ("v1.2 is out", ("v1.2",)),
        ("notes.md and *.py and docs/**/*.txt", ("notes.md",)),
        ("Delete *.py", ()),
    ],
)
def test_the_files_that_a_text_names(text: str, paths: tuple[str, ...]) -> None:
    """A11: what the task asks for by name and nothing that leads out of the files folder."""
    assert named_paths(text) == paths


def test_there_is_a_limit() -> None:
    """A11: bounds that nobody can read are no bounds."""
    assert len(named_paths(" ".join(f"f{at}.txt" for at in range(100)))) == MOST_PATHS


def test_words_and_resources_say_the_same() -> None:
    """A11: the person reads what is granted; names are shown with everything invisible spelled out."""
    assert {one.value for one in file_resources("/files", ["a/b.txt"])} == {"/files/a/b.txt"}
    assert {one.value for one in file_resources("/files", [])} == {"/files"}
    assert "“a/b.txt”" in file_words(["a/b.txt"])["en"]
    assert "any file" in file_words([])["en"]
    assert "\u202e" not in file_words(["a\u202e.txt"])["en"]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a.txt. Then b.txt.. and c.txt...", ("a.txt", "b.txt", "c.txt")),
        ("(a.txt), <b.txt>; {c.txt}: [d.txt]! e.txt? 'f.txt' | g.txt", tuple(f"{name}.txt" for name in "abcdefg")),
        ("“a.txt”‘b.txt’「c.txt」『d.txt』《e.txt》（f.txt）【g.txt】", tuple(f"{name}.txt" for name in "abcdefg")),
        ("a.X, b.tX. X.txt", ("a.X", "b.tX", "X.txt")),
        ("b/x.md a.txt b/x.md ./b//x.md", ("b/x.md", "a.txt")),
        ("https://a.b/c.txt a.txt ftp://x/y.md b.txt", ("a.txt", "b.txt")),
        ("../a.txt b.txt /c.txt d.txt", ("b.txt", "d.txt")),
        (".profile notes/ notes. a.b/ x.abcdefghij y.abcdefghijk", ("x.abcdefghij",)),
        ("", ()),
    ],
)
def test_names_are_told_from_what_is_around_them(text: str, paths: tuple[str, ...]) -> None:
    """A11: quotation, brackets and ends of sentences in both languages; what is no file or leads out is passed over."""
    assert named_paths(text) == paths


def test_the_limit_is_the_first_twenty() -> None:
    """A11: in the order of the text."""
    assert MOST_PATHS == 20
    assert named_paths(" ".join(f"f{at}.txt" for at in range(21))) == tuple(f"f{at}.txt" for at in range(20))


def test_the_bounds_of_one_effect_are_exactly_it() -> None:
    """A10: nothing wider than what waits: its action, its resources, its model, engine and mode, for its agent."""
    issued, expires = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    wanted = Execution(
        user_space="s", domain="d", agent_id="a", action="file.create",
        resources=frozenset({Resource(kind="path", value="/f/x")}), model="m", engine="e", permission_mode="standard",
        action_digest="d" * 64, request_id="r", session_id="t",
    )  # fmt: skip
    assert exact_bounds(Owner("i", "t", "u"), wanted, issued, expires) == Bounds(
        issuer="i", tenant="t", subject="u", user_space="s", domain="d", agent_id="a",
        actions=frozenset({"file.create"}), resources=wanted.resources, models=frozenset({"m"}),
        engines=frozenset({"e"}), permission_ceiling="standard", issued_at=issued, expires_at=expires,
    )  # fmt: skip


def test_bounds_are_said_in_both_languages() -> None:
    """A11: the whole folder is said to be that; names are quoted and listed."""
    assert file_words([]) == {
        "en": "Create and change any file in your files folder.",
        "zh": "新建和修改文件夹中的任何文件。",
    }
    assert file_words(["a.txt", "b\tc.txt"]) == {
        "en": "Create and change “a.txt”, “b⟦U+0009⟧c.txt”.",
        "zh": "新建和修改“a.txt”、“b⟦U+0009⟧c.txt”。",
    }
    assert file_resources("/files", ["a.txt", "b/c.txt"]) == {
        Resource(kind="path", value="/files/a.txt"), Resource(kind="path", value="/files/b/c.txt")
    }  # fmt: skip


def test_the_words_of_a_command_name_what_is_granted_and_not_the_one_command() -> None:
    """A10, A11: the bounds name the program, so nobody may read them as one exact command."""
    asked = {"en": "Run “make test”.", "zh": "运行“make test”。"}
    command = Resource(kind="command", value="/usr/bin/make")
    assert effect_words([command], asked)["en"] == (
        "Run the program “make”, with whatever arguments. Each command is still decided by itself."
    )
    assert "“make”" in effect_words([command], asked)["zh"]
    assert "\u202e" not in effect_words([Resource(kind="command", value="/x/a\u202eb")], asked)["en"]
    assert effect_words([Resource(kind="path", value="/files/a")], asked) == asked


def test_several_programs_and_odd_names_are_told_apart() -> None:
    """A10: each program is named, and a tab in a name is spelled out, so that no two names look alike."""
    programs = [Resource(kind="command", value=f"/usr/bin/{name}") for name in ("make", "a\tb")]
    told = effect_words(programs, {"en": "?", "zh": "?"})
    assert told["en"].startswith("Run the program “make”, “a")
    assert "“make”、“a" in told["zh"]
    assert "\t" not in told["en"] + told["zh"]
