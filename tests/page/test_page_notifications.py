"""Notifications in a real browser (N2, N3, N7-N9, O6): what was seen, news, settings, this browser, its worker."""

import json

import pytest
from playwright.async_api import Page, expect

from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import Json, Refusal, StandIn
from tests.page.stand_in_control import SESSION
from tests.page.test_page_control import assert_accessible

pytestmark = pytest.mark.browser

BROWSER = """
window.inFront = true;
document.hasFocus = () => window.inFront;
window.shown = [];
class Told {
  static permission = "PERMISSION";
  static requestPermission = async () => (Told.permission = "granted");
  constructor(title, options) { window.shown.push({ title, ...options }); window.last = this; }
  close() {}
}
window.Notification = Told;
"""
"""A browser whose window is in front or not as the test says, and whose notifications are kept instead of shown."""

PUSH = """
const made = () => ({
  toJSON: () => ({ endpoint: "https://push.example/1", keys: { p256dh: "p", auth: "a" } }),
  unsubscribe: async () => delete sessionStorage.subscribed,
});
PushManager.prototype.getSubscription = async () => (sessionStorage.subscribed ? made() : null);
PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
  if (applicationServerKey.length !== 65 || !userVisibleOnly) throw new Error("not as it should be");
  sessionStorage.subscribed = "yes";
  return made();
};
"""
"""A push service of the browser's own, which tests cannot reach."""


def browser(permission: str = "granted", more: str = "") -> str:
    return BROWSER.replace("PERMISSION", permission) + more


async def in_front(page: Page, yes: bool) -> None:
    await page.evaluate("(yes) => { window.inFront = yes; if (yes) dispatchEvent(new Event('focus')); }", yes)


def news(seq: int, group: str = "group_1") -> Json:
    return {"group_id": group, "agent_id": "twin", "locator": {"kind": "message", "session_id": SESSION, "seq": seq}}


async def tell(stand_in: StandIn, seq: int, group: str = "group_1") -> None:
    await stand_in.notify("notification", **news(seq, group))


async def test_what_is_visible_in_front_is_seen(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """N2: only in a focused window, only ever further, several at once told once."""
    for _ in range(3):
        stand_in.add("assistant", "Word.")
    page = await open_page(script=browser() + "window.inFront = false;")
    await expect(page.locator("#message-3")).to_be_visible()
    stand_in.add("assistant", "One more.")
    await stand_in.stored()
    await expect(page.locator("#message-4")).to_be_visible()
    assert stand_in.seen == []
    await in_front(page, True)
    await eventually(lambda: stand_in.seen == [4], "the newest, once")
    for word in ("One", "Two"):
        stand_in.add("assistant", word)
    await stand_in.stored()
    await eventually(lambda: stand_in.seen[-1] == 6, "what came since")
    assert stand_in.seen == sorted(set(stand_in.seen))
    call = stand_in.calls_of("agents.seen")[-1]
    assert call["params"] == {"session_id": SESSION, "up_to_seq": 6}


async def test_reading_history_is_not_seeing(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """N2: far above, or while other settings are in front, nothing is told; back at the end it is."""
    for number in range(120):
        stand_in.add("assistant", f"Message {number}.\n\nWith a second paragraph.")
    page = await open_page("/#/settings", script=browser())
    await expect(page.locator("#settings")).to_be_visible()
    await page.evaluate("location.hash = '#/message/20'")
    await expect(page.locator("#message-20")).to_be_focused()
    await page.wait_for_function("document.querySelector('#scroller').scrollTop > 0")
    stand_in.add("assistant", "The newest.")
    await stand_in.stored()
    await expect(page.locator("#message-121")).to_be_attached()
    assert stand_in.seen == []
    await page.locator("#to-latest").click()
    await eventually(lambda: stand_in.seen[-1:] == [121], "the end")


async def test_a_refused_telling_is_told_again(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """N2: what the host did not take is not forgotten."""
    stand_in.refusals["agents.seen"] = Refusal("invalid_params")
    stand_in.add("assistant", "Word.")
    page = await open_page(script=browser())
    await eventually(lambda: len(stand_in.calls_of("agents.seen")) == 1, "the first telling")
    del stand_in.refusals["agents.seen"]
    await in_front(page, True)
    await eventually(lambda: stand_in.seen == [1], "the second")


async def test_news_behind_other_windows(stand_in: StandIn, open_page: OpenPage) -> None:
    """N7, N9: one generic notification, by agent; a click leads to the message; seen, the count is gone."""
    for _ in range(30):
        stand_in.add("assistant", "Word.\n\nMore.")
    page = await open_page("/#/settings", script=browser())
    await in_front(page, False)
    stand_in.add("assistant", "The secret result.")
    await stand_in.stored()
    await tell(stand_in, 31)
    await tell(stand_in, 31)
    await page.wait_for_function("window.shown.length === 1")
    assert await page.evaluate("window.shown[0].title") == "Twin has news"
    assert await page.evaluate("window.shown[0].tag") == "steward:twin"
    assert "secret" not in json.dumps(await page.evaluate("window.shown"))
    await expect(page.locator("#nav-news")).to_have_text("1")
    await expect(page).to_have_title("(1) Steward")
    await page.evaluate("window.inFront = true; window.last.onclick()")
    await expect(page.locator("#message-31")).to_be_focused()
    await expect(page.locator("#nav-news")).to_be_hidden()
    await expect(page).to_have_title("Steward")
    assert await page.evaluate("window.shown.length") == 1


async def test_news_in_front_but_elsewhere(stand_in: StandIn, open_page: OpenPage) -> None:
    """N9, O6: a count and a spoken line, no notification; what is before the eyes is not announced."""
    stand_in.add("assistant", "Word.")
    page = await open_page("/#/settings", script=browser())
    stand_in.add("assistant", "More.")
    await stand_in.stored()
    await tell(stand_in, 2)
    await expect(page.locator("#announcer")).to_have_text("Twin has news")
    await expect(page.locator("#nav-news")).to_have_accessible_name("1 piece of news")
    await assert_accessible(page)
    await page.locator(".nav-item[data-view=twin]").click()
    await expect(page.locator("#nav-news")).to_be_hidden()
    stand_in.add("assistant", "And more.")
    await stand_in.stored()
    await tell(stand_in, 3, "group_2")
    await expect(page.locator("#message-3")).to_be_visible()
    await expect(page.locator("#nav-news")).to_be_hidden()
    assert await page.evaluate("window.shown.length") == 0


async def test_news_of_a_card(stand_in: StandIn, open_page: OpenPage) -> None:
    """N1, N9: it leads to the card, and is over when the card is decided."""
    stand_in.add_approval("approval_1", task_id="task_1")
    page = await open_page(script=browser())
    await in_front(page, False)
    card = {"kind": "card", "card_id": "approval_1"}
    await stand_in.notify("notification", group_id="group_1", agent_id="twin", locator=card)
    await page.wait_for_function("window.shown.length === 1")
    await expect(page.locator("#nav-news")).to_have_text("1")
    await page.evaluate("window.inFront = true; window.last.onclick()")
    await expect(page.locator("#work-detail .approval")).to_be_visible()
    await page.locator("#work-detail").get_by_role("button", name="Allow once").click()
    await expect(page.locator("#nav-news")).to_be_hidden()


async def test_without_leave_of_the_browser_only_the_count(stand_in: StandIn, open_page: OpenPage) -> None:
    """N9: no notification that the person did not allow; in the chosen language."""
    page = await open_page(script=browser("denied"), locale="zh-CN", viewport={"width": 390, "height": 780})
    await in_front(page, False)
    stand_in.add("assistant", "Word.")
    await stand_in.stored()
    await tell(stand_in, 1)
    await expect(page.locator("#phone-news")).to_have_accessible_name("1 条新消息")
    assert await page.evaluate("window.shown.length") == 0


async def test_the_choices_in_one_sentence(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """N2, N3, N8: on and off, per agent, window, quiet hours; one sentence says what they amount to, in both."""
    stand_in.profiles.append({"agent_id": "agent_2", "name": "Researcher", "enabled": True})
    page = await open_page("/#/settings/notifications", script=browser(), timezone_id="Europe/Berlin")
    words = page.locator(".policy-words")
    await expect(words).to_have_text("One notification for each piece of news, at once.")
    await assert_accessible(page)
    await page.get_by_label("Gather news").select_option("300")
    await expect(words).to_have_text("One notification per agent at most every 5 minutes.")
    quiet = page.get_by_role("group", name="Silent at set times")
    await quiet.get_by_label("On").check(force=True)
    sentence = "One notification per agent at most every 5 minutes; silent from 22:00 to 07:00, Europe/Berlin."
    await expect(words).to_have_text(sentence)
    held = {"enabled": True, "timezone": "Europe/Berlin", "start": "22:00", "end": "07:00"}
    assert stand_in.settings["quiet_hours"] == held
    await page.get_by_label("From").fill("23:15")
    await expect(words).to_have_text(sentence.replace("22:00", "23:15"))
    assert stand_in.settings["quiet_hours"]["start"] == "22:00"
    await page.get_by_role("button", name="Save the quiet hours").click()
    await expect(page.get_by_role("button", name="Save the quiet hours")).to_have_count(0)
    assert stand_in.settings["quiet_hours"]["start"] == "23:15"
    researcher = page.get_by_role("group", name="Researcher")
    await researcher.get_by_label("Off").check(force=True)
    await expect(words).to_contain_text("Nothing of Researcher.")
    assert stand_in.settings["notifications"]["agents"] == {"agent_2": False}
    await page.locator("#language-toggle").click()
    await expect(words).to_have_text(
        "每个助手每5分钟最多一条通知；23:15 至 07:00 静默（Europe/Berlin）。 不通知 Researcher 的消息。"
    )
    await page.locator("#notify-enabled-off").check(force=True)
    await expect(words).to_have_text("通知已关闭，不会发送。")
    await eventually(lambda: stand_in.settings["notifications"]["enabled"] is False, "the choice")


async def test_a_refused_choice_shows_what_holds(stand_in: StandIn, open_page: OpenPage) -> None:
    """N2: the host's word, and the choice as it is there."""
    stand_in.refusals["agents.settings.update"] = Refusal("revision_conflict")
    page = await open_page("/#/settings/notifications", script=browser())
    await page.locator("#notify-enabled-off").click(force=True)
    await expect(page.locator(".form-note")).to_have_text("It has changed meanwhile.")
    await expect(page.locator("#notify-enabled-on")).to_be_checked()


async def test_channels_are_written_and_never_shown(stand_in: StandIn, open_page: OpenPage) -> None:
    """N9, P15: an address is hidden while it is typed and masked afterwards; the others are kept; it can be removed."""
    stand_in.settings["channels"] = [{"channel_id": "channel_0", "kind": "apprise", "url": "ntfy://…"}]
    page = await open_page("/#/settings/notifications", script=browser())
    await page.get_by_role("button", name="Add a channel").click()
    field = page.get_by_label("Address (Apprise URL)")
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("type", "password")
    await field.fill("nonsense")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.locator(".form-note")).to_have_text("That was not accepted: This is no address of Apprise.")
    await field.fill("tgram://bot-secret/chat")
    await page.get_by_role("button", name="Add", exact=True).click()
    rows = page.locator(".channels li code")
    await expect(rows).to_have_text(["ntfy://…", "tgram://…"])
    assert stand_in.channel_urls == ["tgram://bot-secret/chat"]
    assert "bot-secret" not in await page.content()
    await page.get_by_role("button", name="Remove ntfy").click()
    await expect(rows).to_have_text(["tgram://…"])


@pytest.mark.parametrize(
    ("permission", "words"),
    [("denied", "You have blocked notifications of this page."), ("default", "The browser has not been asked yet.")],
)
async def test_the_browsers_own_state_is_told(open_page: OpenPage, permission: str, words: str) -> None:
    """N9: blocked, not asked, allowed, each as it is."""
    page = await open_page("/#/settings/notifications", script=browser(permission, PUSH))
    state = page.locator(".browser-state").first
    await expect(state).to_contain_text(words)
    if permission == "default":
        await state.get_by_role("button", name="Allow notifications").click()
        await expect(state).to_contain_text("Shown while this page is open")
    else:
        await expect(page.locator(".browser-state").nth(1)).to_contain_text("blocked in the browser")
    await expect(state.get_by_role("button")).to_have_count(0)


async def test_a_browser_that_cannot_says_so(stand_in: StandIn, open_page: OpenPage) -> None:
    """N9: no notifications, or a page that did not come securely; a host without a key."""
    page = await open_page("/#/settings/notifications", script="delete window.Notification")
    states = page.locator(".browser-state")
    await expect(states.nth(0)).to_contain_text("This browser cannot show notifications.")
    await expect(states.nth(1)).to_contain_text("This browser has no Web Push.")
    page = await open_page(
        "/#/settings/notifications", script="Object.defineProperty(window, 'isSecureContext', { value: false })"
    )
    await expect(page.locator(".browser-state").nth(0)).to_contain_text("HTTPS or from this machine")
    await expect(page.locator(".browser-state").nth(1)).to_contain_text("needs HTTPS")
    del stand_in.settings["push"]
    page = await open_page("/#/settings/notifications", script=browser(more=PUSH))
    await expect(page.locator(".browser-state").nth(1)).to_contain_text("This host offers no Web Push.")


async def test_a_browser_subscribes_and_ends_it(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """N9: with the host's key; the host is told both times, and of what the browser has kept or lost since."""
    page = await open_page("/#/settings/notifications", script=browser("default", PUSH))
    state = page.locator(".browser-state").nth(1)
    await state.get_by_role("button", name="Notify this browser").click()
    await expect(state).to_contain_text("This browser is notified.")
    (registered,) = stand_in.subscriptions.values()
    assert registered == {"endpoint": "https://push.example/1", "keys": {"p256dh": "p", "auth": "a"}}
    await state.get_by_role("button", name="Not any more").click()
    await eventually(lambda: stand_in.subscriptions == {}, "the end of it")
    await expect(state).to_contain_text("Not for this browser.")
    await state.get_by_role("button", name="Notify this browser").click()
    await eventually(lambda: len(stand_in.subscriptions) == 1, "the second subscription")
    stand_in.subscriptions.clear()
    await page.reload()
    await eventually(lambda: len(stand_in.subscriptions) == 1, "a host that had given it up is told of it again")
    await expect(state).to_contain_text("This browser is notified.")
    await page.evaluate("localStorage.removeItem('steward.push')")
    await page.reload()
    await expect(state).to_contain_text("This browser is notified.")
    assert len(stand_in.subscriptions) == 1, "a page that was closed before the host had answered knows it again"
    await page.evaluate("delete sessionStorage.subscribed")
    await page.reload()
    await eventually(lambda: stand_in.subscriptions == {}, "a browser that lost it gives it up on the host")
    await expect(state).to_contain_text("Not for this browser.")


async def test_a_refusal_in_the_browser_is_said(stand_in: StandIn, open_page: OpenPage) -> None:
    """N9: asked by the browser and refused, nothing is subscribed and nothing else is claimed."""
    refusing = PUSH + "Told.requestPermission = async () => (Told.permission = 'denied');"
    page = await open_page("/#/settings/notifications", script=browser("default", refusing))
    await page.get_by_role("button", name="Notify this browser").click()
    await expect(page.locator("#announcer")).to_have_text("Notifications of this page are blocked in the browser.")
    await expect(page.locator(".browser-state").nth(1).get_by_role("button")).to_have_count(0)
    assert stand_in.subscriptions == {}


async def test_a_push_becomes_one_notification(stand_in: StandIn, open_page: OpenPage, address: str) -> None:
    """N7, N9: a real service worker: fixed words in the page's language, replaced by tag, whatever the push holds."""
    page = await open_page(permissions=["notifications"], locale="zh-CN")
    for _ in range(2):
        stand_in.add("assistant", "Word.")
    await stand_in.stored()
    await page.evaluate("navigator.serviceWorker.register('/service-worker.js?lang=zh', { scope: '/' })")
    await page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    session = await page.context.new_cdp_session(page)
    found: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: found.extend(one["registrationId"] for one in event["registrations"]),
    )
    await session.send("ServiceWorker.enable")
    await page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
    pushes = [json.dumps({"kind": "news", **news(2), "text": "secret"}), json.dumps(news(2)), "no JSON"]
    for data in pushes:
        await session.send(
            "ServiceWorker.deliverPushMessage", {"origin": address, "registrationId": found[0], "data": data}
        )
    shown = """async (place) => (await (await navigator.serviceWorker.ready).getNotifications())
      .filter((one) => one.data.place === place).map(({ title, body, tag }) => ({ title, body, tag }))"""
    await page.wait_for_function(f"({shown})('#/').then((told) => told.length === 1)")
    assert await page.evaluate(shown, "#/") == [{"title": "Twin 有新消息", "body": "", "tag": "steward:twin"}]
    assert await page.evaluate(shown, "#/message/2") == []
    worker = page.context.service_workers[0]
    await worker.evaluate("show('#/message/2').catch(() => null)")
    await expect(page.locator("#message-2")).to_be_focused()
    assert await worker.evaluate("caches.keys()") == []
    answer = await page.context.request.get(f"{address}/service-worker.js")
    assert answer.headers["service-worker-allowed"] == "/"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
