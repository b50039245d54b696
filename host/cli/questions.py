"""`steward questions list|answer|cancel` (O4, T9)."""

import sys
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command
from host.cli.listing import ALL, CURSOR, LIMIT, ListByDefault, print_page

Json = dict[str, Any]
app = typer.Typer(cls=ListByDefault, help="Questions of tasks: what waits for your answer. Without a command: list.")

QuestionId = Annotated[str, typer.Argument(help="A question's id, as in `steward questions list`.")]
Typed = Annotated[str, typer.Argument(help="An option's number, or your words; - reads them from standard input.")]
AsWords = Annotated[bool, typer.Option("--text", help="Take the answer as words, also where it is an option's number.")]
Revision = Annotated[
    int | None, typer.Option("--revision", min=1, help="Revision of the question that was seen; another is refused.")
]


@app.command("list")
@command()
async def list_questions(invocation: Invocation, every: ALL = False, limit: LIMIT = 50, cursor: CURSOR = None) -> None:
    """List questions, newest first; the open ones unless told otherwise."""
    from host.cli.rpc_client import connected

    params = {"limit": limit, "cursor": cursor, "state": None if every else "open"}
    async with connected(invocation.settings()) as client:
        wanted = {key: value for key, value in params.items() if value}
        page = await client.request("user-question/list", wanted)
    print_page(
        page,
        ("question", "state", "task", "text", "options", "answer"),
        lambda question: (
            question["question_id"], question["state"], question["task_id"], question["text"],
            _options(question), question.get("answer"),
        ),
        as_json=invocation.as_json,
        nothing="No questions." if every else "No open questions.",
    )  # fmt: skip


@app.command("answer")
@command()
async def answer(
    invocation: Invocation, question_id: QuestionId, typed: Typed, as_words: AsWords = False, revision: Revision = None
) -> None:
    """Answer a question; its task goes on with the answer."""
    from host.cli.printing import print_json, write
    from host.cli.question_words import answer_of, find_question, respond
    from host.cli.rpc_client import connected

    words = sys.stdin.read().strip() if typed == "-" else typed
    async with connected(invocation.settings()) as client:
        question = _as_seen(await find_question(client, question_id), revision)
        given = {"text": words} if as_words else answer_of(question, words)
        result = await respond(client, question, given)
    if invocation.as_json:
        print_json(result)
    else:
        write(f"{question_id} is answered.")


@app.command("cancel")
@command()
async def cancel(invocation: Invocation, question_id: QuestionId, revision: Revision = None) -> None:
    """Close a question without an answer; its task goes on without it."""
    from host.cli import question_words
    from host.cli.printing import print_json, write
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        question = _as_seen(await question_words.find_question(client, question_id), revision)
        result = await question_words.cancel(client, question)
    if invocation.as_json:
        print_json(result)
    else:
        write(f"{question_id} is cancelled.")


def _as_seen(question: Json, revision: int | None) -> Json:
    return question if revision is None else question | {"revision": revision}


def _options(question: Json) -> str:
    return "; ".join(f"{number}: {option['label']}" for number, option in enumerate(question["options"], 1))
