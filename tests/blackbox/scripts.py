"""Texts that the scripted model obeys (tests/fake_model_server.py), and how to nest them without losing count."""

import json

THEN = "[[then]]"


def tool(name: str, **arguments: object) -> str:
    """Call a tool."""
    return f"[[tool:{name} {json.dumps(arguments)}]]"


def say(text: str) -> str:
    """Stream a text, word by word."""
    return f"[[say:{text}]]"


def delay(milliseconds: int) -> str:
    """Wait before each piece from here on."""
    return f"[[delay:{milliseconds}]]"


def hang(seconds: int) -> str:
    """Stall before anything else is said."""
    return f"[[hang:{seconds}]]"


def steps(*parts: str) -> str:
    """One model step after the other."""
    return THEN.join(parts)


def delegate(title: str, instructions: str, acknowledgement: str = "in hand", **more: object) -> str:
    """Hand over a task whose executor obeys the instructions, and say so."""
    return steps(tool("delegate_task", title=title, instructions=instructions, **more), say(acknowledgement))
