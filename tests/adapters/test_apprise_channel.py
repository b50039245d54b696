"""Apprise as a channel: sent once to a loopback webhook, bounded, quiet, and nothing that acts on this machine (N9)."""

import asyncio
import inspect
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import structlog

from adapters.apprise_channel import LOCAL_SCHEMES, LONGEST_URL, MOST_THREADS, check_url, masked, notify
from domain.refusal import Refused
from runtime.logging import configure_logging
from tests.conftest import Eventually
from tests.push_service import Answer, Webhook

SECRET = "planted-token"
TITLE, BODY = "Twin has news", "Open Steward to read it: <1> & done."


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with Webhook() as running:
        yield running


def nothing_hangs() -> bool:
    return all(thread.name != "apprise" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
async def _nothing_is_left(eventually: Eventually) -> AsyncIterator[None]:
    yield
    await eventually(nothing_hangs, "what hung ended with its service")


async def sent(url: str, timeout_s: float = 30.0) -> str:
    return await notify(url, TITLE, BODY, timeout_s)


async def test_the_service_gets_title_and_body(webhook: Webhook) -> None:
    """N9: once, as they are."""
    assert await sent(webhook.url(f"/{SECRET}")) == "sent"
    (message,) = webhook.messages()
    assert (message["title"], message["message"]) == (TITLE, BODY)
    assert webhook.requests[0].path == f"/{SECRET}"


@pytest.mark.parametrize(
    "answer",
    [Answer(400), Answer(404), Answer(429), Answer(500), Answer(302, {"Location": "/x"}), Answer(instead="reset")],
)
async def test_whatever_goes_wrong_is_failed(webhook: Webhook, answer: Answer) -> None:
    """N9: one attempt; who repeats it decides by itself."""
    webhook.answer_with(answer)
    assert await sent(webhook.url()) == "failed"
    assert len(webhook.requests) == 1


async def test_a_redirect_is_not_followed(webhook: Webhook) -> None:
    """N9: the person named one address."""
    with Webhook() as elsewhere:
        webhook.answer_with(Answer(307, {"Location": f"{elsewhere.address}/x"}))
        assert await sent(webhook.url()) == "failed"
        assert elsewhere.requests == []


async def test_nobody_there_is_failed(free_port: Callable[[], int]) -> None:
    """N9: also a URL that is none any more."""
    assert await sent(f"json://127.0.0.1:{free_port()}/x") == "failed"
    assert await sent("no-such-service://x") == "failed"
    assert await sent("syslog://") == "failed"


@pytest.mark.parametrize("answer", [Answer(instead="hang"), Answer(instead="trickle")], ids=["hang", "trickle"])
async def test_a_service_that_does_not_end_is_given_up(
    webhook: Webhook, answer: Answer, eventually: Eventually
) -> None:
    """N9: also one that Apprise's own time-out never ends."""
    assert await sent(webhook.url()) == "sent"
    webhook.answer_with(answer)
    assert await sent(webhook.url(), timeout_s=0.2) == "failed"
    await eventually(lambda: len(webhook.requests) == 2, "the request arrived")


async def test_what_hangs_is_bounded_and_comes_free_again(webhook: Webhook, eventually: Eventually) -> None:
    """N9: a service that always hangs costs 8 threads and no more."""
    webhook.answer_with(Answer(instead="trickle"))
    for _ in range(MOST_THREADS):
        assert await sent(webhook.url(), timeout_s=0.01) == "failed"
    await eventually(lambda: len(webhook.requests) == MOST_THREADS, "all requests arrived")
    assert await sent(webhook.url()) == "failed"
    assert len(webhook.requests) == MOST_THREADS
    webhook.close()
    await eventually(nothing_hangs, "the threads ended")
    with Webhook() as other:
        assert await sent(other.url()) == "sent"


async def test_what_hangs_does_not_keep_the_process(webhook: Webhook, eventually: Eventually) -> None:
    """N9: a process that stops does not wait for a service."""
    webhook.answer_with(Answer(instead="trickle"))
    program = (
        "import asyncio, sys\n"
        "from adapters.apprise_channel import notify\n"
        "async def main():\n"
        "    sending = asyncio.create_task(notify(sys.argv[1], 'title', 'body', 600.0))\n"
        "    await asyncio.to_thread(sys.stdin.readline)\n"
        "    sending.cancel()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, webhook.url(), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        await eventually(lambda: len(webhook.requests) == 1, "the request arrived")
        async with asyncio.timeout(60):
            _, words = await process.communicate(b"stop\n")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, words) == (0, b"")


@pytest.fixture
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:], logging.raiseExceptions = handlers, raising
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.mark.usefixtures("_restored_logging")
async def test_the_url_is_in_no_log(webhook: Webhook, capfd: pytest.CaptureFixture[str]) -> None:
    """I9, P15: as the processes log, at the most talkative level, also when it goes wrong; nor on a terminal."""
    configure_logging("json", "host", logging.DEBUG)
    for answer in (Answer(200), Answer(500), Answer(instead="reset")):
        webhook.answer_with(answer)
        await sent(webhook.url(f"/{SECRET}"))
    await sent(f"json://user:{SECRET}@127.0.0.1:1/{SECRET}?+X-Token={SECRET}")
    for url in (f"slack://{SECRET}", f"tgram://{SECRET}/", f"unknown://{SECRET}", f"mailto://{SECRET}"):
        await sent(url)
    structlog.get_logger().debug("this_line_is_seen")
    out, err = capfd.readouterr()
    assert "this_line_is_seen" in err
    assert all(secret not in out + err for secret in (SECRET, TITLE, BODY))


async def test_apprise_itself_logs_nothing(webhook: Webhook, caplog: pytest.LogCaptureFixture) -> None:
    """P15: its records quote URLs."""
    caplog.set_level(logging.DEBUG)
    webhook.answer_with(Answer(500))
    await sent(webhook.url(f"/{SECRET}"))
    await sent(f"slack://{SECRET}")
    assert [record for record in caplog.records if record.name.startswith("apprise")] == []


@pytest.mark.parametrize(
    "url",
    [
        "json://127.0.0.1:9000/hook",
        "jsons://user:password@example.com/hook",
        "ntfys://topic",
        "mailtos://user:password@gmail.com",
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
        "https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
        "JSON://127.0.0.1:9000/hook",
        f"json://127.0.0.1/{'x' * (LONGEST_URL - 17)}",
    ],
)
def test_urls_of_services_are_taken(url: str, webhook: Webhook) -> None:
    """N9: any Apprise URL; checking sends nothing."""
    check_url(url)
    assert webhook.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        SECRET,
        "://",
        "json://",
        "json:/x",
        f"unknown://{SECRET}",
        f"https://example.com/{SECRET}",
        f"json://127.0.0.1/{SECRET}\nsyslog://",
        f" json://127.0.0.1/{SECRET}",
        f"json://127.0.0.1/{'x' * (LONGEST_URL - 16)}",
        "syslog://",
        "syslog://local0",
        "SYSLOG://",
        "dbus://",
        "macosx://",
        "windows://",
        f"vapid://me@example.com/{SECRET}",
        f"file:///etc/{SECRET}",
        f"discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js?template=/etc/{SECRET}",
        f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template=/etc/{SECRET}",
        f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template=file:///etc/{SECRET}",
        f"tgram://123456789:abcdefg_hijklmnop/lead2gold/?template=/etc/{SECRET}",
        f"workflows://host:443/workflow/signature/?template=/etc/{SECRET}",
        f"fcm://project/token?mode=oauth2&keyfile=/etc/{SECRET}",
        f"mailtos://user:password@gmail.com?pgppub=/etc/{SECRET}",
        f"mailtos://user:password@gmail.com?pgp=yes&pgppub=/etc/{SECRET}",
    ],
)
def test_other_urls_are_refused_without_quoting_them(url: str) -> None:
    """N9, P15: not Apprise's, acting on this machine, or naming a file of it."""
    with pytest.raises(Refused) as caught:
        check_url(url)
    refusal = caught.value.refusal
    assert (refusal.code, dict(refusal.details)) == ("invalid_params", {"field": "url"})
    assert SECRET not in str(caught.value)


def test_what_acts_on_this_machine_is_known_for_the_pinned_apprise() -> None:
    """N9: a later version's new desktop or program is noticed here.

    These take a URL that names nobody, or start programs.
    """
    from apprise.manager_plugins import NotificationManager

    manager: Any = NotificationManager()  # type: ignore[no-untyped-call] # Apprise's
    found: set[str] = set()
    for scheme in manager.schemas():
        plugin = manager[scheme]
        names_nobody = any("{" not in template.replace("{schema}", "") for template in plugin.templates)
        if names_nobody or "import subprocess" in inspect.getsource(sys.modules[plugin.__module__]):
            found.add(scheme)
    assert {"macosx", "syslog", "dbus"} <= found <= LOCAL_SCHEMES


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"slack://{SECRET}/{SECRET}", "slack://…"),
        (f"JSONS://user:{SECRET}@{SECRET}.example/{SECRET}?{SECRET}={SECRET}#{SECRET}", "jsons://…"),
        (f"{SECRET}", "…"),
        (f"{SECRET}{'x' * 40}://host", "…"),
        (f"//{SECRET}", "…"),
        ("", "…"),
    ],
)
def test_only_the_scheme_is_shown(url: str, shown: str) -> None:
    """P15: write-only."""
    assert masked(url) == shown
