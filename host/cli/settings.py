"""`steward settings get|update`: the person's own settings on the host (api.md `agents.settings`, E8)."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from host.cli.invocation import Invocation, command

Json = dict[str, Any]
app = typer.Typer(help="Your own settings: automatic review, notifications, quiet hours, language.")

Changes = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME=VALUE...",
        help="As auto_review=off, language=zh, aggregation_s=60, quiet_hours.enabled=on, quiet_hours.start=22:30, "
        "notifications.agents.twin=off (=default takes a choice for an agent back).",
    ),
]
Revision = Annotated[
    int | None, typer.Option("--revision", min=0, help="The revision that was seen; another one is refused.")
]
_WORDS: dict[str, bool | None] = {"on": True, "true": True, "off": False, "false": False, "default": None}


@app.command("get")
@command()
async def get(invocation: Invocation) -> None:
    """Show all settings with their revision."""
    from host.cli.rpc_client import connected

    async with connected(invocation.settings()) as client:
        _show(await client.call("agents.settings.get", {}), as_json=invocation.as_json)


@app.command("update")
@command()
async def update(invocation: Invocation, changes: Changes, revision: Revision = None) -> None:
    """Change settings; what is not named stays as it is, and a choice stays until you make another one."""
    from host.cli.rpc_client import connected
    from host.cli.sending import new_request_id

    wanted = parse_changes(changes)
    async with connected(invocation.settings()) as client:
        seen = revision if revision is not None else (await client.call("agents.settings.get", {}))["revision"]
        params = {"expected_revision": seen, "changes": wanted}
        answer = await client.call("agents.settings.update", params, request_id=new_request_id())
    _show(answer, as_json=invocation.as_json)


def parse_changes(words: Sequence[str]) -> Json:
    """Read `name.name=value` words as the nested changes they stand for; the host knows which there are.

    Raises:
        BadParameter: a word has no name or no value, or two of them contradict each other.
    """
    changes: Json = {}
    for word in words:
        name, equals, value = word.partition("=")
        *way, last = name.split(".", 2)
        inner: Any = changes
        for step in way:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else None
        if not equals or not all([*way, last]) or not isinstance(inner, dict) or last in inner:
            raise typer.BadParameter(f"{word} is not NAME=VALUE, or is there twice.", param_hint="NAME=VALUE")
        inner[last] = _value(value)
    return changes


def _value(text: str) -> bool | int | str | None:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if text.isascii() and text.isdecimal() else text


def _show(answer: Json, *, as_json: bool) -> None:
    from host.cli.printing import print_fields, print_json

    if as_json:
        print_json(answer)
    else:
        print_fields(dict(_fields(answer)))


def _fields(value: Json, before: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, item in value.items():
        if isinstance(item, dict):
            found += _fields(item, f"{before}{name}.")
        else:
            shown = {True: "on", False: "off"}[item] if isinstance(item, bool) else item
            found.append((f"{before}{name}", shown if shown != [] else None))
    return found
