"""What was asked of a Steward and accepted, what was seen to be final, and everything that went against a promise."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from tests.blackbox.rpc_client import Json, Refusal, RpcClient

Breach = Literal["lost", "doubled", "ran on", "orphan", "hidden", "broken"]
"""`ran on`: after a stop said that it was done; `hidden`: an unknown outcome not shown as one; `broken`: the rest."""
BREACHES: tuple[Breach, ...] = ("lost", "doubled", "ran on", "orphan", "hidden", "broken")


@dataclass(frozen=True)
class Request:
    """One write, as it can be repeated word for word (I2)."""

    request_id: str
    method: str
    params: Json
    envelope: Json

    async def make(self, client: RpcClient) -> Json:
        """Make it, for the first time or again.

        Raises:
            Refusal: It was refused.
        """
        if not self.method.startswith("user-question/"):
            return await client.call(self.method, self.params, request_id=self.request_id, **self.envelope)
        answer = await client.answer(self.method, {**self.params, "request_id": self.request_id})
        if "error" in answer:
            raise Refusal(answer["error"])
        result: Json = answer["result"]
        return result


@dataclass
class Ledger:
    """Accepted requests with their receipts, final states, counts and breaches of one round."""

    accepted: dict[str, tuple[Request, Json]] = field(default_factory=dict)
    finals: dict[tuple[str, ...], str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    breaches: list[tuple[Breach, str]] = field(default_factory=list)

    def breach(self, kind: Breach, what: str) -> None:
        """Note that a promise was broken, once."""
        if (kind, what) not in self.breaches:
            self.breaches.append((kind, what))

    def expect(self, holds: bool, kind: Breach, what: str) -> None:
        """Note a breach unless something holds."""
        if not holds:
            self.breach(kind, what)

    def accept(self, request: Request, receipt: Json) -> None:
        """Keep a receipt; another one for the same request is a second effect (I2)."""
        _, earlier = self.accepted.setdefault(request.request_id, (request, receipt))
        self.expect(named_by(earlier) == named_by(receipt), "doubled", f"{request.request_id} has two receipts")

    def final(self, state: str, *key: str) -> None:
        """Note a final state; it may never be another one later (I7)."""
        earlier = self.finals.setdefault(key, state)
        self.expect(earlier == state, "broken", f"{' '.join(key)} went from {earlier} to {state} (I7)")


def named_by(receipt: Json) -> Json:
    """The part of a receipt that never changes."""
    return {key: value for key, value in receipt.items() if key not in ("state", "input")}
