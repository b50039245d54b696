"""Shows questions of tasks and answers them: the one that was shown, by id and revision (T9)."""

from typing import Any

from host.cli.printing import shown, write
from host.cli.rpc_client import RpcClient
from host.cli.sending import new_request_id

Json = dict[str, Any]
PAGE = 100


def print_question(question: Json) -> None:
    """Show a question with its numbered options."""
    write(f"A task asks: {shown(question['text'])}")
    for number, option in enumerate(question["options"], 1):
        write(f"  {number}  {shown(option['label'], keep='')}")


def answer_of(question: Json, typed: str) -> Json:
    """What was typed as an answer of the wire: an option by its number or its exact words, or free words."""
    for number, option in enumerate(question["options"], 1):
        if typed.casefold() in (str(number), option["label"].casefold()):
            return {"option_id": option["id"]}
    return {"text": typed}


async def open_questions(client: RpcClient) -> list[Json]:
    """All questions that wait for an answer, newest first."""
    found: list[Json] = []
    cursor = None
    while True:
        wanted = {"state": "open", "limit": PAGE} | ({"cursor": cursor} if cursor else {})
        page = await client.request("user-question/list", wanted)
        found += page["items"]
        cursor = page["next_cursor"]
        if not cursor:
            return found


async def find_question(client: RpcClient, question_id: str) -> Json:
    """A question as it is now; one that does not wait any more is only named, and the host says what became of it."""
    for question in await open_questions(client):
        if question["question_id"] == question_id:
            return question
    return {"question_id": question_id, "revision": 1, "options": []}


async def respond(client: RpcClient, question: Json, answer: Json) -> Json:
    """Answer a question as it was shown.

    Raises:
        Refused: `question_closed` or `revision_conflict` when somebody was faster, `not_found`, `invalid_params`.
    """
    return await client.request("user-question/respond", {**_named(question), "answer": answer})


async def cancel(client: RpcClient, question: Json) -> Json:
    """Close a question without an answer; its task goes on. Errors as in `respond`."""
    return await client.request("user-question/cancel", _named(question))


def _named(question: Json) -> Json:
    return {
        "question_id": question["question_id"],
        "revision": question["revision"],
        "request_id": new_request_id(),
    }
