"""`steward send` and `steward chat`: the main conversation from a terminal (O4)."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from host.cli.invocation import Invocation, command

Text = Annotated[str, typer.Argument(help="What to say; - reads it from standard input.")]
Attach = Annotated[list[Path] | None, typer.Option("--attach", help="A file to attach; may be repeated.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the reply, or only until it is accepted.")]
RequestId = Annotated[
    str | None, typer.Option("--request-id", help="Id of this request: the same one again reads the first's receipt.")
]


@command()
async def send(
    invocation: Invocation, text: Text, attach: Attach = None, wait: Wait = True, request_id: RequestId = None
) -> int:
    """Say something in the main conversation, and show the reply while it is written."""
    from host.cli.sending import send_text

    said = sys.stdin.read() if text == "-" else text
    return await send_text(invocation, said, attach or [], wait=wait, request_id=request_id)


@command()
async def chat(invocation: Invocation) -> None:
    """Talk in the terminal: replies as they are written, results of tasks, cards to decide."""
    from host.cli.chat import Chat

    await Chat(invocation.settings(), as_json=invocation.as_json).run()
