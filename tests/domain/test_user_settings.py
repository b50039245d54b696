"""The person's settings: defaults, strict shapes, and choices that stay (api.md `agents.settings`, E8, N2, N3)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.user_settings import DEFAULTS, SettingChanges, chosen, in_force

TIMES = st.from_regex(r"([01][0-9]|2[0-3]):[0-5][0-9]", fullmatch=True)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "notifications": st.fixed_dictionaries(
            {}, optional={"enabled": st.booleans(), "agents": st.dictionaries(st.sampled_from("ab"), st.booleans())}
        ),
        "quiet_hours": st.fixed_dictionaries(
            {},
            optional={
                "enabled": st.booleans(), "timezone": st.sampled_from(["UTC", "Asia/Shanghai"]), "start": TIMES,
                "end": TIMES,
            },
        ),
        "aggregation_s": st.integers(0, 900),
        "auto_review": st.booleans(),
        "inputs_while_running": st.sampled_from(["queue", "merge"]),
        "language": st.sampled_from(["en", "zh"]),
        "channels": st.just([]),
    },
)  # fmt: skip


def leaves(value: dict[str, Any], way: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every value by the way to it."""
    found: dict[tuple[str, ...], Any] = {}
    for key, item in value.items():
        found |= leaves(item, (*way, key)) if isinstance(item, dict) and item else {(*way, key): item}
    return found


def test_the_defaults_are_the_shape_of_the_contract() -> None:
    """api.md, E8: review on, aggregation off, notifications on, no quiet hours."""
    assert in_force({}) == dict(DEFAULTS)
    assert in_force({})["auto_review"] is True
    assert in_force({})["aggregation_s"] == 0


@given(st.lists(CHANGES, max_size=5))
def test_what_was_chosen_last_is_in_force_and_nothing_else_changes(made: list[dict[str, Any]]) -> None:
    """E8: each choice stays until another one is made of the same thing."""
    choices: dict[str, Any] = {}
    expected = leaves(dict(DEFAULTS))
    for change in made:
        choices = chosen(choices, SettingChanges.model_validate(change))
        expected |= {way: value for way, value in leaves(change).items() if value != {}}
    if any(way[:2] == ("notifications", "agents") and len(way) == 3 for way in expected):
        expected.pop(("notifications", "agents"))
    assert leaves(in_force(choices)) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"aggregation_s": 901},
        {"aggregation_s": -1},
        {"aggregation_s": "1"},
        {"aggregation_s": 1.5},
        {"auto_review": "off"},
        {"auto_review": 1},
        {"auto_review": None},
        {"language": "de"},
        {"inputs_while_running": "drop"},
        {"quiet_hours": {"start": "24:00"}},
        {"quiet_hours": {"start": "7:00"}},
        {"quiet_hours": {"end": "07:00\n"}},
        {"quiet_hours": {"end": "07:60"}},
        {"quiet_hours": {"zone": "UTC"}},
        {"notifications": {"agents": {"": True}}},
        {"notifications": {"agents": {"twin": "yes"}}},
        {"notifications": True},
        {"channels": [{"kind": "mail", "url": "json://secret"}]},
        {"channels": [{"kind": "apprise", "url": "json://secret", "channel_id": "a"}]},
        {"channels": [{"kind": "apprise", "url": ""}]},
        {"channels": [{}]},
        {"channels": [{"channel_id": "a"}] * 17},
        {"unknown": 1},
    ],
)
def test_what_is_no_setting_is_refused(change: dict[str, Any]) -> None:
    """api.md: ranges, types and names are exact; a channel is a new address or one that is kept."""
    with pytest.raises(ValidationError):
        SettingChanges.model_validate(change)


def test_a_choice_for_an_agent_is_taken_back_by_null() -> None:
    """N2: an agent without a choice follows the space's."""
    off = chosen({}, SettingChanges.model_validate({"notifications": {"agents": {"twin": False, "aide": False}}}))
    back = chosen(off, SettingChanges.model_validate({"notifications": {"agents": {"twin": None}}}))
    assert in_force(back)["notifications"] == {"enabled": True, "agents": {"aide": False}}


def test_channels_are_no_choice_among_values() -> None:
    """N9, P15: they have rows and secrets of their own, so an address is never stored with the choices."""
    wanted = SettingChanges.model_validate({
        "channels": [{"kind": "apprise", "url": "json://secret"}, {"channel_id": "channel_1"}], "aggregation_s": 5,
    })  # fmt: skip
    assert chosen({}, wanted) == {"aggregation_s": 5}
    assert "secret" not in repr(wanted)
