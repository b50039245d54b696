"""Transition tables: the one way in which a lifecycle changes its state.

A lifecycle is a mapping from (state, event) to the next state. What is not in the table is refused, so a terminal
state, which has no row of its own, can never regress (I7).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from domain.refusal import Refusal

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)


class Lifecycle(Generic[State, Event]):
    """A named transition table over two enumerations."""

    def __init__(self, name: str, table: Mapping[tuple[State, Event], State], refusals: Mapping[State, str]) -> None:
        """Keep the table and, per state, the wire code that a refused event gets (`invalid_params` without one)."""
        self.name = name
        self.table = dict(table)
        self.refusals = dict(refusals)

    def advance(self, state: State, event: Event) -> State | Refusal:
        """Return the state after `event`, or the refusal that tells why `event` does not happen in `state`."""
        following = self.table.get((state, event))
        if following is not None:
            return following
        code = self.refusals.get(state, "invalid_params")
        article = "An" if self.name[0] in "aeiou" else "A"
        return Refusal(
            code, f"{article} {self.name} that is {state.value} does not take {event.value}.", {"state": state.value}
        )

    def terminal(self, state: State) -> bool:
        """Whether no event leads out of `state`."""
        return not any(origin == state for origin, _ in self.table)
