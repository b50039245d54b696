"""Paths as text: everything that could leave the files root or name nothing is refused with its code (E3)."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.file_paths import MAX_COMPONENT_BYTES, MAX_PATH_BYTES, TEMPORARY_PREFIX, parse_folder, parse_relative
from domain.refusal import Refusal

REFUSED = [
    ("/etc/passwd", "protected_path"),
    ("//server/share", "protected_path"),
    ("/", "protected_path"),
    ("..", "protected_path"),
    ("../x", "protected_path"),
    ("a/../b", "protected_path"),
    ("a/b/../../../c", "protected_path"),
    ("./../x", "protected_path"),
    ("a/..", "protected_path"),
    (f"{TEMPORARY_PREFIX}1", "protected_path"),
    (f"a/{TEMPORARY_PREFIX.upper()}1/b", "protected_path"),
    ("", "invalid_params"),
    (".", "invalid_params"),
    ("./.", "invalid_params"),
    ("a/", "invalid_params"),
    ("a/.", "invalid_params"),
    ("a\0b", "invalid_params"),
    ("/etc/passwd\0.txt", "invalid_params"),
    ("../\0", "invalid_params"),
    ("\ud800", "invalid_params"),
    ("a/\udcff.txt", "invalid_params"),
    ("x" * (MAX_COMPONENT_BYTES + 1), "invalid_params"),
    ("报" * 86, "invalid_params"),
    ("a/" * (MAX_PATH_BYTES // 2) + "b", "invalid_params"),
]


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_refused_paths(path: str, code: str) -> None:
    """E3: outside the root is `protected_path`; NUL, over-long, not UTF-8 or nothing is `invalid_params`."""
    answer = parse_relative(path)
    assert isinstance(answer, Refusal)
    assert answer.code == code
    assert "/etc" not in answer.message


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a", ("a",)),
        ("./a", ("a",)),
        ("a//b/./c", ("a", "b", "c")),
        ("...", ("...",)),
        ("..a/b..", ("..a", "b..")),
        ("a\\..\\b", ("a\\..\\b",)),
        ("~/x", ("~", "x")),
        ("C:/x", ("C:", "x")),
        ("\u2025/x", ("\u2025", "x")),
        ("\uff0e\uff0e/\uff0fetc", ("\uff0e\uff0e", "\uff0fetc")),
        ("%2e%2e/x", ("%2e%2e", "x")),
        ("报告/summary.md", ("报告", "summary.md")),
        ("x" * MAX_COMPONENT_BYTES, ("x" * MAX_COMPONENT_BYTES,)),
        (" a ", (" a ",)),
    ],
)
def test_ordinary_names_are_taken_literally(path: str, parts: tuple[str, ...]) -> None:
    """E3: look-alikes of dots and slashes are names like others; nothing is decoded, normalised or expanded."""
    assert parse_relative(path) == parts


def test_limits_are_named() -> None:
    """E3: a refusal for length carries the limit and the value."""
    answer = parse_relative("x" * 300)
    assert isinstance(answer, Refusal)
    assert dict(answer.details) == {"limit": MAX_COMPONENT_BYTES, "value": 300}


@pytest.mark.parametrize("path", ["", ".", "./", "a/", "a/."])
def test_folders_may_be_the_root(path: str) -> None:
    """A folder's path may be empty, `.` or end in a slash."""
    assert parse_folder(path) in ((), ("a",))


@given(st.text(alphabet=st.sampled_from(["a", ".", "/", "\\", "\0", "\ud800", "é", " "]), max_size=40))
def test_accepted_components_are_single_ordinary_names(path: str) -> None:
    """E3: whatever the text, an accepted path has only names that lead one step down, and they spell the path."""
    answer = parse_relative(path)
    if isinstance(answer, Refusal):
        assert answer.code in {"invalid_params", "protected_path"}
        return
    assert answer
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in answer)
    assert os.path.normpath(path) == "/".join(answer)
