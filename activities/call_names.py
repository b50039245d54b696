"""The request id of what a tool call asks for."""

from contracts.run import RunPoint
from domain.request import OWN


def call_request(point: RunPoint) -> str:
    """The same call asks for the same thing once (I2)."""
    return f"{OWN}{point.run.run_id}:{point.step}:{point.index}"
