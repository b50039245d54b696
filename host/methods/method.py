"""How a method of a plug-in is declared; every module of `host.methods` has a `METHODS` table of these."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from host.call import Call
from host.rpc.params import Params
from host.services import Services

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it does and takes.

    `writes`: it needs a request id, and the writes of one connection follow each other in the order of their frames.
    `local`: it is refused as `local_only` on a connection that is not local (P14).
    `takes_input`: the envelope may carry `user_input` (C7).
    """

    function: Callable[[Services, Call[Any]], Awaitable[Result]]
    params: type[Params]
    writes: bool = False
    local: bool = False
    takes_input: bool = False
