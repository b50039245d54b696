"""What every refusal that a person or a model reads has in common."""

import re

from domain.refusal import Refusal

SENTENCE = re.compile(r"[A-Z][^A-Z]*[a-z].*\.", re.DOTALL)


def assert_readable(refusal: Refusal) -> None:
    """The message is made of sentences: it begins with a capital, is not shouted, ends with a full stop.

    A stable code is one of lower-case words.
    """
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", refusal.code), refusal.code
    assert isinstance(refusal.message, str), refusal
    assert SENTENCE.fullmatch(refusal.message), refusal.message
    assert "XX" not in refusal.message
    assert re.search(r"[a-z]{3}", refusal.message), refusal.message
