"""The middle column in a real browser: history, sending, streaming, cards, files (O6, O7, O8, C2-C11)."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import LIMITS, Refusal, StandIn, iso

pytestmark = pytest.mark.browser


async def say(page: Page, text: str) -> None:
    await page.fill("#composer-text", text)
    await page.press("#composer-text", "Enter")


async def test_history_shows_with_days_and_safe_links(stand_in: StandIn, open_page: OpenPage) -> None:
    """O7, C11: stored messages show with day lines; assistant links open elsewhere; user text stays text."""
    stand_in.add("user", "<b>not bold</b>\nsecond line", time=iso(datetime.now(UTC) - timedelta(days=2)))
    stand_in.add("assistant", "See [the plan](https://example.org/plan) ![cat](https://example.org/cat.png)")
    page = await open_page()
    await expect(page.locator(".from-user .bubble")).to_have_text("<b>not bold</b>\nsecond line")
    link = page.locator(".prose a").first
    await expect(link).to_have_attribute("target", "_blank")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(page.locator(".day:visible")).to_have_count(2)
    await expect(page.locator("img")).to_have_count(0)


async def test_empty_conversation_offers_three_suggestions(open_page: OpenPage) -> None:
    """O7: the empty state offers things to try, into the field and not past the person."""
    page = await open_page()
    suggestions = page.locator(".suggestions button")
    await expect(suggestions).to_have_count(3)
    await suggestions.first.click()
    await expect(page.locator("#composer-text")).to_have_value("Summarise notes.txt into summary.md")


async def test_sending_then_streaming_then_the_stored_reply(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """C4, O8: text grows as it streams, in a live region, and the stored message takes its place once."""
    page = await open_page()
    await say(page, "Hello there")
    await expect(page.locator("#messages .from-user .bubble")).to_have_text("Hello there")
    await expect(page.locator("#pending .message")).to_have_count(0)
    await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "the send")
    await expect(page.locator(".stream-status")).to_have_text("Thinking")
    await expect(page.locator("#stop-turn")).to_be_visible()
    await stand_in.notify("turn.state", turn_id="turn_1", state="running")
    for word in ("Good ", "**morning**", "."):
        await stand_in.notify("turn.delta", turn_id="turn_1", text=word)
    await expect(page.locator(".stream-text")).to_have_text("Good **morning**.")
    await expect(page.locator(".stream-text")).to_have_attribute("aria-live", "polite")
    await stand_in.end_turn("turn_1", "Good **morning**.")
    await expect(page.locator("#messages .from-assistant .prose")).to_have_text("Good morning.")
    await expect(page.locator(".streaming")).to_have_count(0)
    await expect(page.locator("#stop-turn")).to_be_hidden()


async def test_reset_clears_what_was_streamed(stand_in: StandIn, open_page: OpenPage) -> None:
    """C4: after a crash the step runs again; the page shows its text once, never doubled."""
    page = await open_page()
    await stand_in.notify("turn.state", turn_id="turn_9", state="running")
    await stand_in.notify("turn.delta", turn_id="turn_9", text="First half")
    await expect(page.locator(".stream-text")).to_have_text("First half")
    await stand_in.notify("turn.reset", turn_id="turn_9")
    await stand_in.notify("turn.delta", turn_id="turn_9", text="First half and the rest")
    await expect(page.locator(".stream-text")).to_have_text("First half and the rest")


async def test_inputs_behind_a_running_turn_say_queued(stand_in: StandIn, open_page: OpenPage) -> None:
    """C3: an input sent while a reply runs is marked as queued until its own turn starts."""
    page = await open_page()
    await say(page, "one")
    await expect(page.locator(".streaming")).to_have_count(1)
    await say(page, "two")
    await expect(page.locator("#messages .from-user .message-note")).to_have_text(["", "Queued"])
    await stand_in.end_turn("turn_1", "Done with one.")
    await stand_in.notify("turn.state", turn_id="turn_2", state="running")
    await expect(page.locator("#messages .from-user .message-note")).to_have_text(["", ""])


async def test_stop_names_the_running_turn(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """S8: the stop button names the session and the running turn; an interrupted message says so."""
    page = await open_page()
    await say(page, "Write a long text")
    await page.click("#stop-turn")
    await eventually(lambda: len(stand_in.calls_of("agents.stop_turn")) == 1, "the stop")
    assert stand_in.calls_of("agents.stop_turn")[0]["params"] == {"session_id": "session_main", "turn_id": "turn_1"}
    await stand_in.end_turn("turn_1", "Once upon", state="stopped", interrupted=True)
    await expect(page.locator(".interrupted")).to_have_text("Interrupted")


async def test_a_reply_that_was_stopped_before_its_first_word_leaves_a_trace(
    stand_in: StandIn, open_page: OpenPage
) -> None:
    """S8, O7: read again later, such an input does not look like one that was lost."""
    stand_in.add("user", "Write a long text", turn_state="stopped")
    page = await open_page()
    await expect(page.locator(".from-user .interrupted")).to_have_text("Stopped before there was a reply")


async def test_enter_does_not_send_while_an_input_method_composes(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: choosing Chinese characters with Enter sends nothing; Shift+Enter starts a line."""
    page = await open_page()
    await page.fill("#composer-text", "你好")
    await page.evaluate(
        """() => document.getElementById("composer-text").dispatchEvent(
            new KeyboardEvent("keydown", {key: "Enter", isComposing: true, bubbles: true, cancelable: true}))"""
    )
    await page.press("#composer-text", "Shift+Enter")
    await expect(page.locator("#composer-text")).to_have_value("你好\n")
    assert stand_in.calls_of("agents.send") == []


async def test_refused_send_comes_back_into_the_field(stand_in: StandIn, open_page: OpenPage) -> None:
    """C8, O7: a refused message says why and can be edited again; nothing is lost."""
    stand_in.refusals["agents.send"] = Refusal("invalid_params", "Text is too long.", limit=64000, value=64001)
    page = await open_page()
    await say(page, "refuse me")
    await expect(page.locator(".pending-note")).to_have_text("Not sent: That was not accepted: Text is too long.")
    await page.get_by_role("button", name="Edit again").click()
    await expect(page.locator("#composer-text")).to_have_value("refuse me")
    await expect(page.locator("#pending .message")).to_have_count(0)


async def test_text_limit_is_told_before_sending(stand_in: StandIn, open_page: OpenPage) -> None:
    """C8: the limit counts UTF-8 bytes; the page says both numbers and sends nothing."""
    page = await open_page()
    await page.fill("#composer-text", "字" * 21_334)
    await page.click("#composer-send")
    await expect(page.locator("#composer-error")).to_contain_text("64,002 bytes; 64,000 is the limit")
    assert stand_in.calls_of("agents.send") == []


async def test_earlier_messages_load_without_moving_the_reader(stand_in: StandIn, open_page: OpenPage) -> None:
    """O7, H13: scrolling up reads earlier pages to the beginning, in order, each message once."""
    for number in range(1, 131):
        stand_in.add("user", f"message {number}")
    page = await open_page()
    await expect(page.locator("#messages > li")).to_have_count(50)
    scroller = page.locator("#scroller")
    await expect(page.locator("#message-130")).to_be_in_viewport()
    await scroller.evaluate("node => node.scrollTo(0, 40)")
    await expect(page.locator("#messages > li")).to_have_count(100)
    assert await scroller.evaluate("node => node.scrollTop") > 500
    await scroller.evaluate("node => node.scrollTo(0, 0)")
    await expect(page.locator("#messages > li")).to_have_count(130)
    numbers = await page.locator("#messages > li").evaluate_all("nodes => nodes.map(n => Number(n.dataset.seq))")
    assert numbers == list(range(1, 131))
    await expect(page.locator("#thread-top")).to_have_text("The beginning of this conversation")


async def test_long_gap_is_read_to_its_end(stand_in: StandIn, open_page: OpenPage) -> None:
    """H13: catching up reads page after page; a conversation that was empty shows its newest page."""
    page = await open_page()
    await expect(page.locator(".suggestions")).to_be_visible()
    for number in range(1, 61):
        stand_in.add("user", f"message {number}")
    await stand_in.stored()
    await expect(page.locator("#message-60")).to_be_attached()
    for number in range(61, 241):
        stand_in.add("user", f"message {number}")
    await stand_in.stored()
    await expect(page.locator("#message-240")).to_be_in_viewport()
    numbers = await page.locator("#messages > li").evaluate_all("nodes => nodes.map(n => Number(n.dataset.seq))")
    assert numbers == list(range(numbers[0], 241))
    assert numbers[0] <= 11


async def test_reader_is_not_pulled_down(stand_in: StandIn, open_page: OpenPage) -> None:
    """O7: a new message leaves a reader of older ones in place and offers the way down."""
    for number in range(1, 41):
        stand_in.add("user", f"message {number}")
    page = await open_page()
    scroller = page.locator("#scroller")
    await scroller.evaluate("node => node.scrollTo(0, 900)")
    await expect(page.locator("#to-latest")).to_be_visible()
    before = await scroller.evaluate("node => node.scrollTop")
    stand_in.add("assistant", "Something new")
    await stand_in.stored()
    await expect(page.locator("#message-41")).to_be_attached()
    assert await scroller.evaluate("node => node.scrollTop") == before
    await page.click("#to-latest")
    await expect(page.locator("#message-41")).to_be_in_viewport()


async def test_delivery_names_its_kind_and_opens_its_task(stand_in: StandIn, open_page: OpenPage) -> None:
    """D1, D10: a delivery says what kind it is and leads to the task's detail."""
    delivery = {"delivery_id": "delivery_1", "kind": "failure", "task_id": "task_404"}
    stand_in.add("assistant", "It did not work.", origin="delivery", delivery=delivery)
    page = await open_page()
    await expect(page.locator(".delivery-failure .delivery-kind")).to_have_text("Failure")
    await page.locator(".delivery a").click()
    await expect(page.locator("#work-detail")).to_contain_text("This task does not exist.")


async def test_attachment_goes_up_with_its_name(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """C9: the file's name travels percent-encoded; the send names the attachment; the field empties."""
    page = await open_page()
    notes: FilePayload = {"name": "Notizen für 李.txt", "mimeType": "text/plain", "buffer": b"hello"}
    await page.set_input_files("#composer-picker", notes)
    await expect(page.locator(".chip.done .chip-name")).to_have_text("Notizen für 李.txt")
    assert stand_in.calls_of("POST /api/attachments")[0]["filename"] == "Notizen%20f%C3%BCr%20%E6%9D%8E.txt"
    await say(page, "Read this")
    await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "the send")
    assert stand_in.calls_of("agents.send")[0]["user_input"] == {
        "text": "Read this",
        "attachment_ids": ["attachment_1"],
    }
    await expect(page.locator(".chip")).to_have_count(0)
    await expect(page.locator("#messages .file-name")).to_have_text("file.txt")


async def test_a_message_waits_for_its_files(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """C9, O6: sent while a file is on its way, it goes when the file is there; changed meanwhile, it does not."""
    page = await open_page()
    notes: FilePayload = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"hello"}
    stand_in.uploads_go_on.clear()
    await page.set_input_files("#composer-picker", notes)
    await say(page, "Read this")
    await expect(page.locator("#composer-error")).to_have_text("It is sent as soon as the files are uploaded.")
    await expect(page.locator("#composer-text")).to_have_value("Read this")
    stand_in.uploads_go_on.set()
    await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "the send")
    assert stand_in.calls_of("agents.send")[0]["user_input"]["attachment_ids"] == ["attachment_1"]
    await expect(page.locator("#composer-error")).to_be_hidden()

    stand_in.uploads_go_on.clear()
    await page.set_input_files("#composer-picker", notes)
    await say(page, "And this")
    await page.locator("#composer-text").press_sequentially(", no")
    await expect(page.locator("#composer-error")).to_be_hidden()
    stand_in.uploads_go_on.set()
    await expect(page.locator(".chip.done")).to_have_count(1)
    await expect(page.locator("#composer-text")).to_have_value("And this, no")
    assert len(stand_in.calls_of("agents.send")) == 1


async def test_upload_errors_and_limits_are_told(stand_in: StandIn, open_page: OpenPage, tmp_path: Path) -> None:
    """C8, C9: the server's refusal shows at the file and can be tried again; limits are checked before any upload."""
    page = await open_page()
    stand_in.upload_refusal = (413, {"code": "limit_exceeded", "title": "Too large", "status": 413})
    small: FilePayload = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"}
    await page.set_input_files("#composer-picker", small)
    await expect(page.locator(".chip.failed .chip-size")).to_have_text("The file is larger than 20 MiB.")
    await say(page, "with a broken file")
    await expect(page.locator("#composer-error")).to_contain_text("could not be uploaded")
    stand_in.upload_refusal = None
    await page.get_by_role("button", name="Upload a.txt again").click()
    await expect(page.locator(".chip.done")).to_have_count(1)
    await page.set_input_files("#composer-picker", [small] * LIMITS["attachments"])
    await expect(page.locator("#composer-error")).to_have_text("16 files can go with one message; these would be 17.")
    await expect(page.locator(".chip")).to_have_count(1)
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(LIMITS["attachment_bytes"])
    await page.set_input_files("#composer-picker", large)
    await expect(page.locator("#composer-error")).to_contain_text("Files of one message may have 20 MB in total")
    await expect(page.locator(".chip")).to_have_count(1)


async def test_files_can_be_dropped_and_pasted(stand_in: StandIn, open_page: OpenPage) -> None:
    """O7: dropping and pasting attach like the button does."""
    page = await open_page()
    for event in ("drop", "paste"):
        await page.evaluate(
            """(kind) => {
              const data = new DataTransfer();
              data.items.add(new File(["x"], `${kind}.txt`, {type: "text/plain"}));
              const target = document.getElementById("composer-text");
              target.dispatchEvent(kind === "drop"
                ? new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true})
                : new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
            }""",
            event,
        )
    await expect(page.locator(".chip.done .chip-name")).to_have_text(["drop.txt", "paste.txt"])


async def test_image_shows_only_after_its_digest_was_checked(stand_in: StandIn, open_page: OpenPage) -> None:
    """C10: slices are joined and checked against the digest; a damaged file is not shown."""
    whole = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360f8cf500f0003860180e1a67a3c0000000049454e44ae426082"
    )
    good = stand_in.add_file(whole, "good.png", "image/png")
    bad = {**stand_in.add_file(whole, "bad.png", "image/png"), "sha256": "0" * 64}
    stand_in.add("user", "two pictures", attachments=[good, bad])
    page = await open_page()
    notes = page.locator(".file-note")
    await expect(notes.last).to_have_text("The file's digest does not match. It is not shown.")
    await expect(page.locator(".file-image")).to_have_count(1)
    await expect(page.locator(".file-image")).to_have_attribute("alt", "good.png")


async def test_large_file_is_read_in_slices_and_saved(stand_in: StandIn, open_page: OpenPage) -> None:
    """C10: a file longer than a slice arrives whole."""
    content = bytes(range(256)) * 4_000
    stand_in.add("user", "", attachments=[stand_in.add_file(content, "table.bin", "application/octet-stream")])
    page = await open_page()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Save table.bin").click()
    saved = await (await download.value).path()
    assert saved.read_bytes() == content
    reads = stand_in.calls_of("host.session.attachment.read")
    assert [read["params"]["offset"] for read in reads] == [0, 524_288, 1_048_576]
    assert "state" not in json.dumps(reads)
