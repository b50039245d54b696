"""Safe names: portable, visible, bounded, and stable (C9, P2); visible text is injective (E9)."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.file_names import MAX_NAME_BYTES, safe_name
from domain.file_paths import parse_relative
from domain.refusal import Refusal
from domain.visible_text import is_invisible, make_visible

CASES = [
    ("report.pdf", "report.pdf"),
    ("../../etc/passwd", "passwd"),
    ("C:\\Users\\me\\notes.txt", "notes.txt"),
    ("/", "file"),
    ("", "file"),
    ("...", "file"),
    (". . .", "file"),
    (".bashrc", "bashrc"),
    ("..hidden.txt", "hidden.txt"),
    ("CON", "_CON"),
    ("con.txt", "_con.txt"),
    ("nul.tar.gz", "_nul.tar.gz"),
    ("com1.log", "_com1.log"),
    ("console.txt", "console.txt"),
    ("invoice\u202efdp.exe", "invoicefdp.exe"),
    ("a\u200bb\ufeff.txt", "ab.txt"),
    ("a\nb\tc\x7f.txt", "abc.txt"),
    ("a\0.txt", "a.txt"),
    ("\ud800.txt", "txt"),
    ("name. ", "name"),
    ("cafe\u0301.md", "café.md"),
    ("报告 2024.csv", "报告 2024.csv"),
    ("a\u00a0b.txt", "a b.txt"),
    (".steward-tmp-0123", "steward-tmp-0123"),
]


@pytest.mark.parametrize(("given_name", "expected"), CASES)
def test_safe_names(given_name: str, expected: str) -> None:
    """C9: what each kind of hostile or clumsy name becomes."""
    assert safe_name(given_name) == expected


def test_a_long_name_keeps_its_extension() -> None:
    """C9: the cut is made in the stem, at a character's border."""
    name = safe_name("报" * 100 + ".markdown")
    assert name.endswith("报.markdown")
    assert MAX_NAME_BYTES - 3 < len(name.encode()) <= MAX_NAME_BYTES


@given(st.text(max_size=300))
@example("a." + "b" * 300)
@example("x" * 199 + ". .txt")
@example("\u0301" * 150)
def test_every_name_becomes_safe_and_stays(name: str) -> None:
    """C9: bounded, one visible component in NFC without leading dot, accepted as a path, and a fixed point."""
    safe = safe_name(name)
    assert 1 <= len(safe.encode()) <= MAX_NAME_BYTES
    assert not safe.startswith((".", " "))
    assert not safe.endswith((".", " "))
    assert unicodedata.is_normalized("NFC", safe)
    assert not any(is_invisible(character) for character in safe)
    assert not isinstance(parse_relative(safe), Refusal)
    assert safe_name(safe) == safe


@given(st.text(), st.text())
@example("\u27e6U+202E\u27e7", "\u202e")
@example("a b", "a\u00a0b")
def test_visible_text_is_injective(one: str, other: str) -> None:
    """E9: two different texts are never shown alike by the spelling out, and nothing invisible is left."""
    assert (make_visible(one) == make_visible(other)) == (one == other)
    assert not any(is_invisible(character) for character in make_visible(one, keep=""))


@pytest.mark.parametrize("character", "\u202e\u2066\u200b\u200d\ufeff\x1b\r\x00\u2028\u3164\u00a0\u27e6")
def test_tricky_characters_are_spelled_out(character: str) -> None:
    """E9: bidi, zero-width, control and blank characters show as their code points."""
    assert make_visible(character) == f"\u27e6U+{ord(character):04X}\u27e7"
