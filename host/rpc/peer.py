"""What the host knows about one connection (H11): who, its seat, its own pending calls, the order of its writes."""

import asyncio
from dataclasses import dataclass, field

from host.broadcaster import Seat
from host.call import ForegroundPermission
from host.principal import Principal
from host.rpc.framing import RpcId


@dataclass(slots=True)
class Peer:
    """One connection; RPC ids and cancels are its own."""

    connection_id: str
    principal: Principal
    seat: Seat
    pending: dict[RpcId, ForegroundPermission] = field(default_factory=dict)
    write_order: asyncio.Lock = field(default_factory=asyncio.Lock)
    leaving: bool = False

    def revoke_all(self) -> None:
        """The connection is over: what is still being admitted loses its permission (H14)."""
        for permission in self.pending.values():
            permission.revoke()
