"""Output of a command, bounded while it is read (E15): its beginning and its end are kept, all of it is counted.

Standard library only: the supervising process of a command loads it without the packages.
"""

import base64
from typing import Any, Final

Json = dict[str, Any]
_CUT: Final = "\n[… {left_out} bytes left out …]\n"


class BoundedOutput:
    """Keeps at most `limit` bytes however many are added: half from the beginning, half from the end."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Count the data and keep what belongs to the beginning or, as long as nothing follows, to the end."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room else data
        if len(self._tail) > self._half:
            del self._tail[: -self._half]

    def fields(self) -> Json:
        """The kept bytes and the total, as JSON."""
        return {"head": _encoded(self._head), "tail": _encoded(self._tail), "total": self.total}


def output_text(fields: Json) -> str:
    """What was kept as text; bytes that are no UTF-8 are shown as replacement characters, a gap says its size."""
    head, tail = base64.b64decode(fields["head"]), base64.b64decode(fields["tail"])
    left_out = int(fields["total"]) - len(head) - len(tail)
    if left_out <= 0:
        return (head + tail).decode("utf-8", "replace")
    return head.decode("utf-8", "replace") + _CUT.format(left_out=left_out) + tail.decode("utf-8", "replace")


def _encoded(data: bytearray) -> str:
    return base64.b64encode(data).decode("ascii")
