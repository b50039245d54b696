"""Notifications to a service that the person names by an Apprise URL (N9): checked, sent once in a thread, kept quiet.

The hard thing is that such a URL is a secret and Apprise is a hundred services' code: it blocks, may hang, logs what
it was given, and some of it acts on this machine instead of a service. So each sending has a daemon thread of its own
that nobody waits for longer than a bound, its logger is off, and what stays on this machine is refused.
"""

import asyncio
import logging
import re
import threading
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from domain.refusal import refuse

if TYPE_CHECKING:
    from apprise import AppriseAsset, NotifyBase

LONGEST_URL: Final = 1000
TIMEOUT_S: Final = 15.0
MOST_THREADS: Final = 8
LOCAL_SCHEMES: Final = frozenset(
    {"blink1", "dbus", "gio", "glib", "gnome", "kde", "macosx", "qt", "syslog", "vapid", "windows"}
)
_SCHEME: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9+-]{0,31})://")
_free = threading.BoundedSemaphore(MOST_THREADS)
Outcome = Literal["sent", "failed"]


def check_url(url: str) -> None:
    """Check that Apprise knows what to do with a URL and that it leads to a service (N9).

    Refused are the schemes that act on this machine: `macosx` runs a program; `dbus`, `gio`, `glib`, `gnome`, `kde`,
    `qt` and `windows` talk to the desktop; `syslog` to the system's log; `blink1` to a USB device; `vapid` reads and
    writes files. And of every scheme, URLs with a parameter that names a file: a template, a key file, keys for PGP.
    Nothing is sent. The first call loads Apprise, about half a second of CPU: call it in a thread.

    Raises:
        Refused: `invalid_params` with the `field` `url`; the text quotes nothing of it.
    """
    _checked(url)


async def notify(url: str, title: str, body: str, timeout_s: float = TIMEOUT_S) -> Outcome:
    """Send a notification, once; whatever goes wrong is `failed`.

    After `timeout_s` seconds it is `failed` although the service may still get it: a thread cannot be ended. It ends
    with the process at the latest, and while 8 of them hang, further ones fail at once.
    """
    if not _free.acquire(blocking=False):
        return "failed"
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()

    def send() -> None:
        sent = False
        try:
            # Any of a hundred services' code; the words of what it raises may quote the URL.
            with suppress(Exception):
                sent = _send(url, title, body)
        finally:
            _free.release()
        _tell(loop, answer, sent)

    try:
        threading.Thread(target=send, name="apprise", daemon=True).start()
    except RuntimeError:
        # The system gives no more threads.
        _free.release()
        return "failed"
    try:
        async with asyncio.timeout(timeout_s):
            return "sent" if await answer else "failed"
    except TimeoutError:
        return "failed"


def masked(url: str) -> str:
    """Return what may be shown of a URL: its scheme. Host and path hold tokens in many services."""
    found = _SCHEME.match(url)
    return f"{found[1].lower()}://…" if found else "…"


def _send(url: str, title: str, body: str) -> bool:
    from apprise import NotifyFormat

    # The service's own method sends in this thread; Apprise's pool would be waited for when the process ends.
    return bool(_checked(url).notify(body=body, title=title, body_format=NotifyFormat.TEXT))


def _tell(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[bool], sent: bool) -> None:
    def tell() -> None:
        if not answer.done():
            answer.set_result(sent)

    # The loop may have been closed while this thread hung: then nobody asks any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell)


def _checked(url: str) -> "NotifyBase":
    if len(url) > LONGEST_URL:
        raise refuse("invalid_params", f"The URL is longer than {LONGEST_URL} characters.", field="url")
    found = _SCHEME.match(url)
    if found is None or not url.isprintable():
        words = "This is not an Apprise URL: it begins with a service's scheme, for example ntfys:// or mailtos://."
        raise refuse("invalid_params", words, field="url")
    _check_is_remote(found[1].lower())
    service = _service(url)
    if service is None:
        words = "Apprise cannot use this URL: a part of it is missing or wrong, or its service needs more software."
        raise refuse("invalid_params", words, field="url")
    # What Apprise made of it is what counts.
    _check_is_remote(service.schema)
    if _names_a_file(service):
        words = "The URL names a file, as a template or a key. Use one without."
        raise refuse("invalid_params", words, field="url")
    return service


def _check_is_remote(scheme: str) -> None:
    if scheme in LOCAL_SCHEMES:
        words = "This kind of URL acts on Steward's own machine instead of a service. Use one of a service."
        raise refuse("invalid_params", words, field="url")


def _service(url: str) -> "NotifyBase | None":
    from apprise import Apprise

    return Apprise.instantiate(url, asset=_asset())


@lru_cache(maxsize=1)
def _asset() -> "AppriseAsset":
    from apprise import AppriseAsset, PersistentStoreMode

    # Apprise's records quote URLs, bodies and answers; whether something was sent is the return value.
    logger = logging.getLogger("apprise")
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
    return AppriseAsset(
        app_id="Steward", app_desc="Steward", app_url="", storage_mode=PersistentStoreMode.MEMORY, async_mode=False,
        http_redirects=False, pgp_autogen=False, pem_autogen=False, secure_logging=True,
    )  # fmt: skip


def _names_a_file(service: "NotifyBase") -> bool:
    from apprise import AppriseAttachment

    # Services keep the files that a URL names as attachments, their keys one level deeper.
    kept = list(vars(service).values())
    kept += [deeper for part in kept for deeper in getattr(part, "__dict__", {}).values()]
    return any(isinstance(part, AppriseAttachment) and len(part) > 0 for part in kept)
