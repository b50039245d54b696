"""Previews on cards: honest, bounded, and applicable as real diffs (E9)."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.text_diff import MAX_PREVIEW_LINES, NOT_TEXT, TOO_LARGE, unified_preview
from domain.visible_text import is_invisible

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=25)


def shown(before: bytes | None, after: bytes) -> str:
    preview = unified_preview(before, after)
    assert preview.diff is not None
    assert preview.reason is None
    return preview.diff


def test_a_new_file() -> None:
    """E9: all lines of a new file are additions; an empty one shows nothing."""
    assert shown(None, b"a\nb\n") == "@@ -0,0 +1,2 @@\n+a\n+b"
    assert shown(None, b"") == ""
    assert shown(b"same\n", b"same\n") == ""


def test_a_change_in_the_middle_has_context_and_numbers() -> None:
    """E9: three lines around the change, numbered as in the whole file."""
    before = [f"line {number}\n" for number in range(1, 101)]
    after = [*before[:49], "changed\n", *before[50:]]
    diff = shown("".join(before).encode(), "".join(after).encode()).split("\n")
    assert diff[0] == "@@ -47,7 +47,7 @@"
    assert diff[1:] == [
        *(" line 47", " line 48", " line 49"),
        *("-line 50", "+changed"),
        *(" line 51", " line 52", " line 53"),
    ]


def test_the_last_newline_is_shown() -> None:
    """E9: adding or removing the newline at the end is a visible change."""
    assert shown(b"a", b"a\n") == "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a"


@settings(deadline=None, max_examples=60)
@given(old=LINES, new=LINES, old_end=st.sampled_from(["", "\n"]), new_end=st.sampled_from(["", "\n"]))
def test_the_diff_is_the_change(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], old_end: str, new_end: str
) -> None:
    """E9: applying the hunks with `git apply` to the old content gives exactly the new one."""
    before, after = "\n".join(old) + old_end, "\n".join(new) + new_end
    diff = shown(before.encode(), after.encode())
    assert (diff == "") == (before == after)
    if not before or not after or before == after:
        return
    folder = tmp_path_factory.mktemp("diff")
    (folder / "f").write_bytes(before.encode())
    patch = f"--- a/f\n+++ b/f\n{diff}\n".encode()
    applied = subprocess.run(["git", "apply", "--unidiff-zero", "-"], input=patch, cwd=folder, capture_output=True)
    assert applied.returncode == 0, (applied.stderr, patch)
    assert Path(folder / "f").read_bytes() == after.encode()


@pytest.mark.parametrize(
    ("before", "after"), [(b"\0", b"a"), (b"a", b"\xff"), (None, b"\x89PNG\r\n\x1a\n\0"), (b"caf\xe9", b"x")]
)
def test_binary_has_no_preview(before: bytes | None, after: bytes) -> None:
    """E9: binary on either side says "no preview"."""
    preview = unified_preview(before, after)
    assert (preview.diff, preview.reason) == (None, NOT_TEXT)
    assert NOT_TEXT.startswith("no preview")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"x\n" * MAX_PREVIEW_LINES),
        (None, b"x" * (64 * 1024)),
        (b"x" * (1024 * 1024 + 1), b""),
        (b"", b"x" * (1024 * 1024 + 1)),
        (b"".join(b"%d\n" % number for number in range(5000)), b"".join(b"x%d\n" % number for number in range(5000))),
        (None, "\u202e".encode() * 10_000),
    ],
)
def test_large_has_no_preview(before: bytes | None, after: bytes) -> None:
    """E9: a diff over 200 lines or 64 KiB, or of very large content, says "no preview"."""
    preview = unified_preview(before, after)
    assert (preview.diff, preview.reason) == (None, TOO_LARGE)


def test_a_small_change_of_a_large_file_is_shown() -> None:
    """E9: the bound is on the change, not on the file."""
    before = b"".join(b"%d\n" % number for number in range(100_000))
    assert "+new" in shown(before, before.replace(b"\n50000\n", b"\nnew\n"))


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ("rm x \u202e# safe\n", "+rm x ⟦U+202E⟧# safe"),
        ("a\rb\n", "+a⟦U+000D⟧b"),
        ("a\x1b[2Kb\n", "+a⟦U+001B⟧[2Kb"),
        ("a\u2028b\n", "+a⟦U+2028⟧b"),
        ("a\x0bb\x0cc\n", "+a⟦U+000B⟧b⟦U+000C⟧c"),
        ("p\u200bassword\u00a0x\n", "+p⟦U+200B⟧assword⟦U+00A0⟧x"),
        ("\ufeffa\n", "+⟦U+FEFF⟧a"),
        ("⟦U+202E⟧\n", "+⟦U+27E6⟧U+202E⟧"),
        ("tab\there 报告 é 👍\n", "+tab\there 报告 é 👍"),
    ],
)
def test_nothing_is_hidden(after: str, line: str) -> None:
    """E9: control, bidi, zero-width and line-breaking characters are spelled out, in one line."""
    assert shown(None, after.encode()).split("\n") == ["@@ -0,0 +1 @@", line]


def test_line_ends() -> None:
    """E9: a file that ends all lines with CRLF reads plainly; a change of line ends is shown."""
    assert shown(b"a\r\nb\r\n", b"a\r\nc\r\n") == "@@ -1,2 +1,2 @@\n a\n-b\n+c"
    assert shown(b"a\r\n", b"a\n") == "@@ -1 +1 @@\n-a⟦U+000D⟧\n+a"


@given(st.text(max_size=80), st.text(max_size=80))
def test_different_contents_never_look_the_same(one: str, other: str) -> None:
    """E9: a change is never shown as no change, and no invisible character reaches the card."""
    if "\0" in one + other:
        return
    diff = shown(one.encode(), other.encode())
    assert (diff == "") == (one == other)
    assert not any(is_invisible(character) for character in diff if character not in "\n\t")
