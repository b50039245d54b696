"""From a call to a card (E1-E3): the exact action, its preview, or the refusal as the call's result."""

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from assistant.tool_arguments import CONTENT_BYTES
from store.tables_authority import EffectRow
from tests.effect_world import SCOPE, World, count


async def test_writing_a_new_file_names_the_folders_it_makes(world: World) -> None:
    """E1, E2: the action has the absent file, the new content's digest and the missing parents."""
    effect = await world.proposed(await world.task(), path="a/b/notes.txt", content="hello\n")
    assert effect.state == "waiting_decision"
    assert effect.action["operation"] == "create"
    assert effect.action["precondition"] == "absent"
    assert effect.action["path"] == str(world.folder / "a/b/notes.txt")
    assert effect.action["created_parents"] == ["a", "a/b"]
    assert effect.preview == "@@ -0,0 +1 @@\n+hello"
    assert not (world.folder / "a").exists()


async def test_replacing_a_file_has_its_digest_as_precondition(world: World) -> None:
    """E2, E9: what is there now is part of the action, and the card shows the difference."""
    (world.folder / "notes.txt").write_text("one\ntwo\n")
    effect = await world.proposed(await world.task(), content="one\nthree\n", path="notes.txt")
    assert effect.action["operation"] == "replace"
    assert effect.action["precondition"]["size"] == 8
    assert effect.preview is not None
    assert "-two\n+three" in effect.preview


async def test_an_edit_becomes_the_whole_new_content(world: World) -> None:
    """E1: the passage is replaced in the text as it is now."""
    (world.folder / "notes.txt").write_bytes("\ufeffone\r\ntwo\r\n".encode())
    effect = await world.proposed(await world.turn(), "edit_file", path="notes.txt", old="two", new="2")
    assert effect.content == "\ufeffone\r\n2\r\n".encode()


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("edit_file", {"path": "notes.txt", "old": "missing", "new": "x"}, "precondition_changed"),
        ("edit_file", {"path": "notes.txt", "old": "o", "new": "x"}, "precondition_changed"),
        ("edit_file", {"path": "none.txt", "old": "o", "new": "x"}, "not_found"),
        ("edit_file", {"path": "large.txt", "old": "b", "new": "x"}, "invalid_params"),
        ("edit_file", {"path": "binary", "old": "a", "new": "x"}, "invalid_params"),
        ("edit_file", {"path": "nearly.txt", "old": "b", "new": "x" * 100}, "invalid_params"),
        ("write_file", {"path": "../out.txt", "content": "x"}, "protected_path"),
        ("write_file", {"path": "/etc/passwd", "content": "x"}, "protected_path"),
        ("write_file", {"path": "link.txt", "content": "x"}, "protected_path"),
        ("write_file", {"path": "hard.txt", "content": "x"}, "protected_path"),
        ("write_file", {"path": "x" * 300, "content": "x"}, "invalid_params"),
        ("write_file", {"path": "a.txt"}, "invalid_params"),
        ("write_file", {"path": "a.txt", "content": "x", "mode": "777"}, "invalid_params"),
        ("write_file", {"path": "a.txt", "content": "x" * (CONTENT_BYTES + 1)}, "invalid_params"),
        ("read_file", {"path": "notes.txt"}, "invalid_params"),
        ("run_anything", {}, "invalid_params"),
    ],
)
async def test_what_cannot_be_done_is_the_calls_result_without_a_card(
    world: World, name: str, arguments: dict[str, Any], code: str
) -> None:
    """E1, E3, C5: refused at once, nothing written, no absolute path in the message."""
    _prepare(world.folder)
    [point] = await world.step(await world.task(), (name, arguments))
    await world.proposals.propose(point)
    await world.proposals.propose(point)
    told = await world.result(point)
    assert told["error"]["code"] == code
    assert str(world.folder) not in told["error"]["message"]
    async with world.database.read(SCOPE) as tx:
        assert await count(tx, select(func.count()).select_from(EffectRow)) == 0


def _prepare(folder: Path) -> None:
    (folder / "notes.txt").write_text("one two\n")
    (folder / "large.txt").write_text("b" + "a" * CONTENT_BYTES)
    (folder / "nearly.txt").write_text("b" + "a" * (CONTENT_BYTES - 1))
    (folder / "binary").write_bytes(b"\0a")
    (folder / "link.txt").symlink_to(folder / "notes.txt")
    (folder / "other.txt").write_text("x")
    os.link(folder / "other.txt", folder / "hard.txt")


@pytest.mark.parametrize("content", [b"\0binary", b"a" * (1024 * 1024 + 1)])
async def test_large_and_binary_files_have_no_preview(world: World, content: bytes) -> None:
    """E9: the card says that there is no preview."""
    (world.folder / "notes.txt").write_bytes(content)
    effect = await world.proposed(await world.task())
    assert effect.preview is not None
    assert effect.preview.startswith("no preview")
