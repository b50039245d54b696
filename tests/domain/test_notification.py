"""What a notification says (N1, N7): a fixed sentence and ids."""

from domain.agent_profile import INSTRUCTIONS_BYTES, check_instructions, check_model, check_name, may_end
from domain.notification import card, message_at, push_payload, words
from domain.refusal import Refusal


def test_a_notification_says_that_there_is_news_and_where() -> None:
    """N7: in the person's language, the same for every agent."""
    assert words("en") == "Twin has news"
    assert words("zh") == "Twin 有新消息"
    assert words("de") == words("en")
    assert push_payload("twin", "group_1", message_at("session_1", 7)) == {
        "kind": "news", "agent_id": "twin", "group_id": "group_1",
        "locator": {"kind": "message", "session_id": "session_1", "seq": 7},
    }  # fmt: skip
    assert push_payload("a", "g", card("approval_1"))["locator"] == {"kind": "card", "card_id": "approval_1"}


def test_profiles_have_bounds_and_twin_stays() -> None:
    """api.md `agents.profiles`: a name in one line, instructions of a bounded size, the host's own model."""
    assert check_name("Aide 1") == "Aide 1"
    for name in ("", "  ", "a\nb", "x" * 101, "\ud800"):
        assert isinstance(check_name(name), Refusal), name
    assert check_instructions("") == ""
    assert check_instructions("x" * INSTRUCTIONS_BYTES) == "x" * INSTRUCTIONS_BYTES
    for text in ("x" * (INSTRUCTIONS_BYTES + 1), "\ud800", "a\x00"):
        assert isinstance(check_instructions(text), Refusal)
    assert check_model(None, "offline") is None
    assert check_model("offline", "offline") == "offline"
    assert isinstance(check_model("openai:x", "offline"), Refusal)
    assert isinstance(may_end("twin"), Refusal)
    assert may_end("agent_1") is None
