"""Actions and their digests (E2), and what a card says about them (E1, E9)."""

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.action import FileAction, FileOperation
from domain.card_words import LANGUAGES, file_impact, file_words
from domain.file_state import Absent, FileState, Present
from domain.visible_text import is_invisible
from store.action_digest import action_digest

SHA = st.text("0123456789abcdef", min_size=64, max_size=64)
SIZES = st.integers(0, 10_000_000)
NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), min_size=1, max_size=20)
STATES: st.SearchStrategy[FileState] = st.one_of(st.just(Absent()), st.builds(Present, SHA, SIZES))
ACTIONS = st.builds(
    FileAction.writing,
    NAMES.map(lambda name: f"/files/{name}"),
    STATES,
    content_sha256=SHA,
    content_size=SIZES,
    created_parents=st.lists(NAMES, max_size=3).map(tuple),
)


def digest(action: FileAction) -> str:
    return action_digest(action.fields())


@given(ACTIONS, ACTIONS)
def test_equal_digests_mean_the_same_action(one: FileAction, other: FileAction) -> None:
    """E2: the digest is a function of the deciding fields and tells them all apart."""
    assert (digest(one) == digest(other)) == (one == other)


@given(ACTIONS, st.data())
def test_every_deciding_field_changes_the_digest(action: FileAction, data: st.DataObject) -> None:
    """E2: change any one field and the decision does not fit any more."""
    changes: dict[str, object] = {
        "operation": next(other for other in FileOperation if other is not action.operation),
        "path": action.path + "x",
        "precondition": _precondition(data.draw(STATES.filter(lambda state: state != action.expected()))),
        "content_sha256": data.draw(SHA.filter(lambda sha: sha != action.content_sha256)),
        "content_size": action.content_size + 1,
        "created_parents": (*action.created_parents, "more"),
    }
    assert set(changes) | {"kind"} == set(FileAction.model_fields)
    for name, value in changes.items():
        assert digest(action.model_copy(update={name: value})) != digest(action), name


def _precondition(found: FileState) -> object:
    return FileAction.writing("/x", found, content_sha256="0" * 64, content_size=0, created_parents=()).precondition


@given(ACTIONS)
def test_an_action_survives_its_storage(action: FileAction) -> None:
    """E2: what is read back from the row is the same action with the same digest."""
    again = FileAction.model_validate_json(action.model_dump_json())
    assert again == action
    assert digest(again) == digest(action)


def test_the_digest_is_that_of_rfc_8785() -> None:
    """E2: keys sorted, no spaces, UTF-8."""
    action = FileAction.writing("/files/é", Absent(), content_sha256="0" * 64, content_size=3, created_parents=("a",))
    canonical = (
        '{"content_sha256":"' + "0" * 64 + '","content_size":3,"created_parents":["a"],"kind":"file",'
        '"operation":"create","path":"/files/é","precondition":"absent"}'
    )
    assert digest(action) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    ("found", "missing", "covered"),
    [
        (Absent(), ("a", "a/b"), True),
        (Absent(), ("a/b",), True),
        (Absent(), (), True),
        (Absent(), ("a", "a/b", "a/b/c"), False),
        (Present("0" * 64, 0), ("a", "a/b"), False),
    ],
)
def test_an_action_covers_no_folder_that_the_card_does_not_name(
    found: FileState, missing: tuple[str, ...], covered: bool
) -> None:
    """E1, E10: a folder that somebody made meanwhile is no change; one more to be made is."""
    action = FileAction.writing(
        "/files/a/b/c.txt", Absent(), content_sha256="0" * 64, content_size=0, created_parents=("a", "a/b")
    )
    assert action.covers(found, missing) is covered


@given(ACTIONS, NAMES)
@example(
    FileAction.writing("/f/x", Absent(), content_sha256="0" * 64, content_size=0, created_parents=("\t",)), "a\t.txt"
)
def test_a_card_hides_nothing(action: FileAction, name: str) -> None:
    """E9: both languages, and no character that a reader could not see."""
    for said in (file_words(action, name), file_impact(action)):
        assert set(said) == set(LANGUAGES)
        assert not [character for text in said.values() for character in text if is_invisible(character)]


def test_a_card_names_what_is_made_and_what_is_lost() -> None:
    """E1, E9: created folders and sizes in words."""
    new = FileAction.writing("/f/a/x", Absent(), content_sha256="0" * 64, content_size=1, created_parents=("a",))
    assert file_words(new, "a/x")["en"] == "Create the file “a/x”."
    assert file_impact(new)["en"] == "A new file of 1 byte. Makes the folder “a”."
    before = Present("1" * 64, 2048)
    changed = FileAction.writing("/f/x", before, content_sha256="0" * 64, content_size=10, created_parents=())
    assert file_words(changed, "x")["en"] == "Replace the content of the file “x”."
    assert file_impact(changed)["en"] == "2.0 KB before, 10 bytes after. The old content is not kept."


def test_an_action_says_what_it_finds_and_what_it_leaves() -> None:
    """E2, E4, E13: what must be at the path before, and what proves afterwards that it happened."""
    new, old = "0" * 64, Present("1" * 64, 5)
    made = FileAction.writing("/f/x", Absent(), content_sha256=new, content_size=3, created_parents=("a", "a/b"))
    assert made.fields() == {
        "kind": "file", "operation": "create", "path": "/f/x", "precondition": "absent", "content_sha256": new,
        "content_size": 3, "created_parents": ["a", "a/b"],
    }  # fmt: skip
    assert (made.expected(), made.result()) == (Absent(), Present(new, 3))
    replaced = FileAction.writing("/f/x", old, content_sha256=new, content_size=3, created_parents=())
    assert replaced.fields()["operation"] == "replace"
    assert replaced.fields()["precondition"] == {"sha256": old.sha256, "size": old.size}
    assert (replaced.expected(), replaced.result()) == (old, Present(new, 3))
    assert replaced.covers(old, ())
    assert not replaced.covers(Present(old.sha256, 6), ())
    assert not replaced.covers(Absent(), ())
    assert not replaced.covers(old, ("a",))


@pytest.mark.parametrize(
    "spoiled",
    [
        {"content_sha256": "0" * 63}, {"content_sha256": "G" * 64}, {"content_size": -1}, {"more": 1}, {"path": None},
        {"precondition": "there"}, {"precondition": {"sha256": "0" * 64, "size": -1}}, {"operation": "delete"},
        {"kind": "command"},
    ],
)  # fmt: skip
def test_what_is_no_action_is_none(spoiled: dict[str, object]) -> None:
    """E2: a row that was tampered with is not read as something else, and an action does not change."""
    action = FileAction.writing("/f/x", Absent(), content_sha256="0" * 64, content_size=0, created_parents=())
    assert FileAction.model_validate(action.fields()) == action
    with pytest.raises(ValidationError):
        FileAction.model_validate(action.fields() | spoiled)
    with pytest.raises(ValidationError):
        action.path = "/f/y"  # type: ignore[misc]
