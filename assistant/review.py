"""Asking the reviewer (E8): the space's model, without tools, once; whatever is no clean answer is unsure."""

import asyncio
from typing import TYPE_CHECKING, Any

from assistant.context import assemble
from assistant.model_call import NoSink, stream_reply
from assistant.model_errors import ModelUnavailable
from assistant.review_prompt import SYSTEM
from contracts.model_io import UserText
from domain.gate import Review
from domain.review import read_answer

if TYPE_CHECKING:
    from pydantic_ai.models import Model

WHOLE = 10**9
"""A budget, in tokens, that shortens nothing: the prompt is bounded where it is made."""


async def ask_reviewer(model: "Model[Any]", prompt: str, wait_s: float) -> tuple[Review, str | None]:
    """Ask for a verdict and its reason; unsure when none comes within `wait_s` seconds or it is not clean."""
    context = assemble(SYSTEM, [], [UserText(text=prompt)], WHOLE)
    try:
        async with asyncio.timeout(wait_s):
            reply = await stream_reply(model, context, (), silence_timeout_s=wait_s, sink=NoSink())
    except (ModelUnavailable, TimeoutError):
        return Review.UNSURE, None
    # A call was not offered: whoever makes one is not answering the question.
    return (Review.UNSURE, None) if reply.calls else read_answer(reply.text)
