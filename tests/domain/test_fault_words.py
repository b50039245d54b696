"""What a person or a model is told of a value that does not fit (O3, api.md): what to send instead, in plain words."""

from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from domain.fault_words import fault_words, field_path
from domain.user_settings import SettingChanges


class _Inner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    flag: bool


class _Given(BaseModel):
    model_config = ConfigDict(strict=True)
    text: Annotated[str, Field(min_length=1, max_length=3)] = "a"
    checked: Annotated[str, AfterValidator(str.strip), Field(min_length=1, max_length=3)] = "a"
    two: Annotated[str, Field(min_length=2)] = "ab"
    many: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    number: Annotated[int, Field(ge=1, le=9)] = 1
    share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    mode: Literal["allow", "ask"] = "ask"
    name: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    inner: _Inner | None = None
    names: dict[str, str] = {}


class _Needed(BaseModel):
    needed: str


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": 1}, "must be text"),
        ({"text": ""}, "must not be empty"),
        ({"text": "abcd"}, "must have at most 3 characters"),
        ({"checked": ""}, "must not be empty"),
        ({"checked": "abcd"}, "must have at most 3 characters, not 4"),
        ({"two": "a"}, "must have at least 2 characters"),
        ({"many": []}, "must not be empty"),
        ({"many": ["a"] * 3}, "must have at most 2 entries, not 3"),
        ({"many": "a"}, "must be a list"),
        ({"number": "1"}, "must be a whole number"),
        ({"number": 1.5}, "must be a whole number"),
        ({"number": 0}, "must be at least 1"),
        ({"number": 10}, "must be at most 9"),
        ({"share": 0.0}, "must be more than 0.0"),
        ({"share": 1.0}, "must be less than 1.0"),
        ({"share": "x"}, "must be a number"),
        ({"mode": "deny"}, "must be 'allow' or 'ask'"),
        ({"name": "A"}, "has characters that are not allowed here, or in a place where they are not"),
        ({"inner": 1}, "must be an object"),
        ({"inner": {"flag": 1}}, "must be true or false"),
        ({"names": []}, "must be an object"),
    ],
    ids=str,
)
def test_each_fault_has_plain_words(given: dict[str, object], words: str) -> None:
    """O3: the limit and what to send, no class of this program, nothing of the value."""
    assert _told(_Given, given) == words


def test_what_is_missing_is_said_to_be_needed() -> None:
    """O3: also where nothing was given at all."""
    assert _told(_Needed, {}) == "must be given"


def _told(model: type[BaseModel], given: object) -> str:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(given)
    return fault_words(raised.value.errors(include_url=False)[0])


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        ({"channels": [{}]}, "channels.0.kind", "must be given"),
        ({"channels": ["x"]}, "channels.0", "must be an object"),
        ({"channels": [{"kind": "apprise", "url": ""}]}, "channels.0.url", "must not be empty"),
        ({"Channels": []}, "Channels", "Extra inputs are not permitted"),
        (
            {"quiet_hours": {"start": "7:00"}},
            "quiet_hours.start",
            "must be a time from 00:00 to 23:59, with both digits of the hour, such as 07:00",
        ),
    ],
)  # fmt: skip
def test_a_field_is_named_as_on_the_wire(given: dict[str, object], path: str, words: str) -> None:
    """O3, N2: no class of this program is named, and a time says how it is written."""
    with pytest.raises(ValidationError) as refused:
        SettingChanges.model_validate(given)
    first = refused.value.errors()[0]
    assert (field_path(first), fault_words(first)) == (path, words)
