"""The page's connection and frame: reconnect without loss, sign-in, headers, width, languages, axe (O6-O8)."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, FilePayload, Page, expect

from host.page.page_routes import security_headers
from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import StandIn, iso, serve

pytestmark = pytest.mark.browser


async def test_host_restart_loses_nothing(
    stand_in: StandIn, browser: Browser, free_port: Callable[[], int], eventually: Eventually
) -> None:
    """H11, H13, O8: what is written while the host is away goes out once after it is back; what was missed shows."""
    port = free_port()
    page = await browser.new_page(locale="en-GB")
    async with serve(stand_in, port) as url:
        stand_in.add("assistant", "Before the restart.")
        await page.goto(url)
        await expect(page.locator("#messages > li")).to_have_count(1)
    await expect(page.locator("#banner")).to_contain_text("No connection to Steward")
    await page.fill("#composer-text", "written while away")
    await page.press("#composer-text", "Enter")
    await expect(page.locator(".pending-note")).to_have_text("Goes out when the connection is back")
    await page.fill("#composer-text", "half a thought")
    stand_in.add("assistant", "Stored while away.")
    async with serve(stand_in, port):
        await expect(page.locator("#link-state")).to_have_attribute("data-state", "online")
        await expect(page.locator("#messages > li")).to_have_count(3)
        await expect(page.locator("#pending .message")).to_have_count(0)
        await expect(page.locator("#composer-text")).to_have_value("half a thought")
        await expect(page.locator("#banner")).to_be_hidden()
        await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "exactly one send")
    await page.close()


async def test_unanswered_send_goes_again_under_its_request_id(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """I2, H11: a send whose answer was lost is sent again unchanged; there is one message."""
    stand_in.silent.add("agents.send")
    page = await open_page()
    await page.fill("#composer-text", "once")
    await page.press("#composer-text", "Enter")
    await eventually(lambda: len(stand_in.calls_of("agents.send")) == 1, "the first send")
    stand_in.silent.clear()
    await stand_in.drop_connections()
    await expect(page.locator("#messages .from-user")).to_have_count(1)
    first, second = stand_in.calls_of("agents.send")
    assert first == second
    assert re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", first["request_id"])


async def test_reload_keeps_draft_and_unsent_messages(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """O7, I2: a reload keeps the draft with its files, and sends what was not yet answered under the same id."""
    stand_in.silent.add("agents.send")
    page = await open_page()
    await page.fill("#composer-text", "not answered yet")
    await page.press("#composer-text", "Enter")
    note: FilePayload = {"name": "kept.txt", "mimeType": "text/plain", "buffer": b"x"}
    await page.set_input_files("#composer-picker", note)
    await expect(page.locator(".chip.done")).to_have_count(1)
    await page.fill("#composer-text", "a draft")
    stand_in.silent.clear()
    await page.reload()
    await expect(page.locator("#messages .from-user .bubble")).to_have_text("not answered yet")
    await expect(page.locator("#composer-text")).to_have_value("a draft")
    await expect(page.locator(".chip.done")).to_have_count(1)
    assert len({call["request_id"] for call in stand_in.calls_of("agents.send")}) == 1


async def test_turn_that_ended_meanwhile_does_not_stay(stand_in: StandIn, open_page: OpenPage) -> None:
    """H13, C4: after a reconnect a running reply is told anew; of one that is not, the receipt says that it is over."""
    page = await open_page()
    await page.fill("#composer-text", "hello")
    await page.press("#composer-text", "Enter")
    await stand_in.notify("turn.state", turn_id="turn_1", state="running")
    await stand_in.notify("turn.delta", turn_id="turn_1", text="Partial")
    await expect(page.locator(".stream-text")).to_have_text("Partial")
    await stand_in.drop_connections()
    await expect(page.locator(".stream-text")).to_have_text("")
    await stand_in.notify("turn.reset", turn_id="turn_1")
    await stand_in.notify("turn.delta", turn_id="turn_1", text="Partial and the rest")
    await expect(page.locator(".stream-text")).to_have_text("Partial and the rest")
    next(iter(stand_in.receipts.values()))["state"] = "done"
    await stand_in.drop_connections()
    await expect(page.locator(".streaming")).to_have_count(0)
    await expect(page.locator("#stop-turn")).to_be_hidden()


async def test_page_opened_during_a_turn_can_stop_it(stand_in: StandIn, open_page: OpenPage) -> None:
    """S8, C4: a page that opens while a reply runs knows from the receipt that it runs."""
    receipt = {"request_id": "r-1", "state": "accepted", "turn_id": "turn_1", "message_seq": 1, "accepted_at": iso()}
    stand_in.receipts["r-1"] = receipt
    stand_in.add("user", "Write a book", receipt=receipt)
    page = await open_page()
    await expect(page.locator("#stop-turn")).to_be_visible()
    await stand_in.notify("turn.delta", turn_id="turn_1", text="chapter two")
    await expect(page.locator(".stream-text")).to_have_text("… chapter two")


async def test_unknown_topics_are_ignored(stand_in: StandIn, open_page: OpenPage) -> None:
    """O7: a newer host may send topics this page does not know."""
    page = await open_page()
    await stand_in.notify("something.new", anything=1)
    stand_in.add("assistant", "Still alive.")
    await stand_in.stored()
    await expect(page.locator(".prose")).to_have_text("Still alive.")


async def test_other_binding_is_not_called(stand_in: StandIn, open_page: OpenPage) -> None:
    """H1: a page served for one user space calls no service of another."""
    stand_in.user_space = "someone-else"
    page = await open_page(connected=False)
    await expect(page.locator("#banner")).to_contain_text("another user space")
    assert stand_in.calls == []


async def test_without_a_credential_the_page_says_what_to_do(
    stand_in: StandIn, open_page: OpenPage, address: str
) -> None:
    """H19: the page without a credential, and a page whose credential is gone, both say how to get a link."""
    page = await open_page()
    stand_in.signed_in = False
    await stand_in.drop_connections()
    await expect(page.locator("#banner")).to_contain_text("steward auth link")
    fresh = await open_page(connected=False)
    await expect(fresh.locator("body")).to_contain_text("steward auth link")
    await expect(fresh.locator("body")).to_contain_text("一次性链接")
    async with httpx.AsyncClient() as client:
        assert (await client.get(address)).status_code == 401
    stand_in.signed_in = True
    await fresh.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    await expect(fresh.locator("#link-state")).to_have_attribute("data-state", "online")


async def test_headers_confine_the_page_and_static_files_are_kept(address: str, open_page: OpenPage) -> None:
    """O7: every answer carries the policy; no inline script or style; static files are immutable under their digest."""
    async with httpx.AsyncClient(base_url=address) as client:
        page = await client.get("/")
        script = re.search(r'src="(/static/[0-9a-f]{16}/js/main\.js)"', page.text)
        assert script is not None
        module = await client.get(script[1])
        stale = await client.get("/static/0000000000000000/js/main.js")
        outside = await client.get("/static/0000000000000000/..%2f..%2fpage_routes.py")
    for answer in (page, module, stale):
        assert security_headers().items() <= dict(answer.headers).items() | {
            (name, answer.headers[name]) for name in security_headers()
        }
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert module.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in module.headers["content-type"]
    assert stale.headers["cache-control"] == "no-cache"
    assert outside.status_code == 404
    assert not re.search(r"<script>|<style|\sstyle=|\son[a-z]+=", page.text)
    assert "://" not in page.text


async def words_of(page: Page) -> dict[str, list[str]]:
    base = await page.locator("script[type=module]").get_attribute("src")
    module = str(base).replace("main.js", "strings.js")
    words: dict[str, list[str]] = await page.evaluate("async (at) => (await import(at)).STRINGS", module)
    return words


async def test_both_languages_have_every_word(open_page: OpenPage, repository: Path) -> None:
    """O6: each key has two sentences with the same parameters, and every key the page names exists."""
    page = await open_page()
    words = await words_of(page)
    for key, pair in words.items():
        assert len(pair) == 2, key
        assert all(sentence.strip() for sentence in pair), key
        english, chinese = (set(re.findall(r"\{\w+\}", sentence)) for sentence in pair)
        assert english == chinese, key
    named = await page.locator("[data-i18n]").evaluate_all("nodes => nodes.map(node => node.dataset.i18n)")
    named += await page.locator("[data-i18n-label]").evaluate_all("nodes => nodes.map(node => node.dataset.i18nLabel)")
    for module in (repository / "host/page/static/js").glob("*.js"):
        source = module.read_text()
        named += re.findall(r"""\bt\(\s*"([a-z_.0-9]+)\"""", source)
        named += [f"{key}.{form}" for key in re.findall(r'\bcount\("([a-z_.]+)"', source) for form in ("one", "other")]
    assert len(named) > 60
    assert set(named) <= set(words)


async def test_language_switch_changes_everything_shown(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: the switch changes the page's words, dates and document language without a reload."""
    stand_in.add("assistant", "Hello.", delivery={"delivery_id": "d", "kind": "result", "task_id": "task_1"})
    stand_in.add_approval("approval_1", task_id="task_1")
    page = await open_page()
    await page.click("#language-toggle")
    assert await page.evaluate("document.documentElement.lang") == "zh-CN"
    for selector, words in {
        ".delivery-kind": "结果",
        "#band-in_progress": "进行中",
        ".approval-title": "需要决定",
        ".day:visible": "今天",
        "#decision-strip": "有 1 项待决定",
        "#link-state": "已连接",
    }.items():
        await expect(page.locator(selector).first).to_contain_text(words)


async def test_phone_width_is_one_column_with_a_switch(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: on a phone one column shows; the switch, the strip and details lead between them; nothing overflows."""
    stand_in.add("assistant", "```\n" + "long line " * 40 + "\n```\n\n|a|b|\n|-|-|\n|" + "wide " * 60 + "|x|")
    stand_in.add("user", "w" * 400)
    stand_in.add_approval("approval_1", task_id="task_1")
    page = await open_page(viewport={"width": 360, "height": 740})
    await expect(page.locator("#work")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    assert await page.locator("#scroller").evaluate("node => node.scrollWidth <= node.clientWidth")
    await expect(page.locator("#phone-badge")).to_have_text("1")
    await page.click("#decision-strip")
    await expect(page.locator("#work .approval")).to_be_visible()
    await expect(page.locator("#conversation")).to_be_hidden()
    await page.click(".phone-switch [data-pane=conversation]")
    await expect(page.locator("#composer")).to_be_visible()
    await expect(page.locator("#message-2")).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/#/task/task_1", "/#/settings"])
async def test_no_serious_accessibility_violation(
    stand_in: StandIn, open_page: OpenPage, scheme: str, path: str
) -> None:
    """O6, O8: axe finds nothing serious, light and dark, with streaming, cards, details and settings."""
    stand_in.add("user", "Hello")
    stand_in.add(
        "assistant", "# Title\n\nText with `code` and [a link](https://example.org).\n\n```\nx\n```\n\n|a|\n|-|\n|b|"
    )
    stand_in.add("assistant", "Done.", delivery={"delivery_id": "d", "kind": "failure", "task_id": "task_1"})
    stand_in.add_approval("approval_1", task_id="task_1")
    now = iso()
    row = {"task_id": "task_1", "title": "Work", "state": "running", "created_at": now, "updated_at": now}
    stand_in.tasks["task_1"] = {"task": row, "attempts": [{"attempt": 1, "requirement_version": 1, "state": "failed"}]}
    stand_in.activity["in_progress"] = [row]
    artifact = stand_in.add_file(b"x", "a.md", "text/markdown", "artifact")
    stand_in.activity["recent_outputs"] = [
        {**row, "state": "completed", "result": {"summary": "Done.", "artifacts": [artifact]}},
        {**row, "task_id": "task_2", "state": "completed", "result": {"summary": "Nothing to keep.", "artifacts": []}},
    ]
    page = await open_page(path, color_scheme=scheme, reduced_motion="reduce")
    if path == "/":
        await stand_in.notify("turn.delta", turn_id="turn_9", text="Streaming")
        await page.get_by_role("button", name="Show changes").click()
        await expect(page.locator(".diff")).to_be_visible()
    results = await Axe().run(page)
    serious = [
        (violation["id"], [node["html"][:160] for node in violation["nodes"]])
        for violation in results.response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    assert serious == []
