"""All connections of this host: their number, and what is told to all of them (H10, H12, H13).

Telling is putting into each client's own bounded queue; nobody waits for anybody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from host.rpc.outgoing import Outgoing, event

MAX_CONNECTIONS: Final = 16
GOING_AWAY: Final = 1001


@dataclass(eq=False, slots=True)
class Seat:
    """One connection's place: its queue, how to close it, and whether it has initialised."""

    close: Callable[[int], None]
    outgoing: Outgoing = field(default_factory=Outgoing)
    initialised: bool = False


class Broadcaster:
    """Keeps the seats; `revision` is the newest one that clients were told."""

    def __init__(self) -> None:
        self.revision = 0
        self.slow_disconnects = 0
        self._seats: dict[Seat, None] = {}

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._seats)

    def enter(self, seat: Seat) -> bool:
        """Take a seat; False when all 16 are taken (H12)."""
        if len(self._seats) >= MAX_CONNECTIONS:
            return False
        self._seats[seat] = None
        return True

    def leave(self, seat: Seat) -> None:
        """Give the seat up."""
        self._seats.pop(seat, None)

    def close_all(self, code: int = GOING_AWAY) -> None:
        """Close every connection (H16)."""
        for seat in tuple(self._seats):
            seat.close(code)

    def publish(self, topic: str, revision: int, body: Mapping[str, Any]) -> None:
        """Tell all initialised clients of a committed change (H13)."""
        self.revision = max(self.revision, revision)
        frame = event(topic, revision, body)
        turn_id = body.get("turn_id")
        for seat in self._initialised():
            if turn_id is not None:
                seat.outgoing.end_delta(turn_id)
            seat.outgoing.put(frame)

    def publish_reply(self, turn_id: str, text: str | None) -> None:
        """Tell all initialised clients a piece of a reply, or with None that it begins again (C4)."""
        if text is None:
            self.publish("turn.reset", self.revision, {"turn_id": turn_id})
            return
        for seat in self._initialised():
            seat.outgoing.put_delta(turn_id, text, self.revision)

    def catch_up(self, seat: Seat, turn_id: str, text: str) -> None:
        """Give a client that has just initialised the whole text of a reply under way (C4)."""
        seat.outgoing.put(event("turn.reset", self.revision, {"turn_id": turn_id}))
        if text:
            seat.outgoing.put_delta(turn_id, text, self.revision)

    def _initialised(self) -> list[Seat]:
        return [seat for seat in self._seats if seat.initialised]
