"""Output bounded while it is read, against the simplest model of it (E15)."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.process_output import BoundedOutput, output_text


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(min_value=1, max_value=20))
def test_the_beginning_and_the_end_are_kept_and_all_is_counted(pieces: list[bytes], half: int) -> None:
    """E15: whatever the pieces, the same bytes are kept; never more than the limit."""
    output = BoundedOutput(2 * half)
    for piece in pieces:
        output.add(piece)
    whole = b"".join(pieces)
    fields = output.fields()
    assert fields["total"] == len(whole)
    shown = output_text(fields)
    if len(whole) <= 2 * half:
        assert shown == whole.decode("utf-8", "replace")
    else:
        head, tail = whole[:half].decode("utf-8", "replace"), whole[-half:].decode("utf-8", "replace")
        assert shown == f"{head}\n[… {len(whole) - 2 * half} bytes left out …]\n{tail}"


def test_a_flood_takes_no_room() -> None:
    """E15: what is kept does not grow with what comes."""
    output = BoundedOutput(1024)
    for _ in range(1000):
        output.add(b"x" * 65536)
    assert output.total == 65_536_000
    assert len(output_text(output.fields())) < 1200
