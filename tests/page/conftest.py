"""Fixtures of the page tests: the stand-in on a port, a Chromium, and pages that fail on any script error."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from tests.page.stand_in import StandIn, serve

CHROMIUM_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BOUND_MS = 15_000
OpenPage = Callable[..., Awaitable[Page]]


@pytest.fixture
def stand_in() -> StandIn:
    """The rows and switches of this test's host."""
    return StandIn()


@pytest.fixture
async def address(stand_in: StandIn, free_port: Callable[[], int]) -> AsyncIterator[str]:
    """Where the stand-in is served."""
    async with serve(stand_in, free_port()) as url:
        yield url


@pytest.fixture(scope="module")
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    """One Chromium for the tests of a file: an idle one costs the tests after it."""
    expect.set_options(timeout=BOUND_MS)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_ARGUMENTS)
        yield chromium
        await chromium.close()


@pytest.fixture
async def open_page(browser: Browser, address: str) -> AsyncIterator[OpenPage]:
    """A function that opens the page and waits until it is connected; errors on the page fail the test at its end."""
    contexts = []
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        # A refused upload or a lost connection is reported by the browser itself; those are what some tests are about.
        expected = "WebSocket connection" in message.text or "Failed to load resource" in message.text
        if message.type == "error" and not expected:
            errors.append(message.text)

    async def open_one(path: str = "/", connected: bool = True, script: str | None = None, **options: Any) -> Page:
        settings = {"locale": "en-GB", "viewport": {"width": 1360, "height": 860}, **options}
        context = await browser.new_context(**settings)
        contexts.append(context)
        if script:
            await context.add_init_script(script)
        page = await context.new_page()
        page.set_default_timeout(BOUND_MS)
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(address + path)
        if connected:
            await page.locator("#link-state[data-state=online]").wait_for()
        return page

    yield open_one
    for context in contexts:
        await context.close()
    assert errors == []
