"""Serves the page: one template, its static files under a digest of their content, and the headers that confine it.

The hard thing is caching without a build step: modules import each other by relative path, so all of them live under
one folder whose name is the digest of the whole tree; a changed file changes every address at once.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates
from starlette.types import Scope
from typing_extensions import override

_HERE: Final = Path(__file__).parent
_STATIC: Final = _HERE / "static"
_TEMPLATES: Final = Jinja2Templates(_HERE / "templates")
_STYLES: Final = [
    f"{name}.css"
    for name in (
        *("tokens", "layout", "controls", "conversation", "composer", "work"),
        *("detail", "files", "approval", "authority", "audit", "prose", "settings", "automations", "notifications"),
    )
]
_APART: Final = frozenset({"boot.js", "sign_in.js"})
"""Scripts that are not modules of the page itself."""
SERVICE_WORKER_PATH: Final = "/service-worker.js"
"""Above everything it may show, so that its scope covers the page."""
_FOREVER: Final = "public, max-age=31536000, immutable"

RequirePage = Callable[[Request], Awaitable[bool]]
"""Says whether the request carries a credential that may see the page (H19)."""


@dataclass(frozen=True, slots=True)
class PageIdentity:
    """What the page must find confirmed by `initialize` before it calls any service (H1), and the server's version."""

    user_space: str
    product_domain: str
    version: str


def security_headers() -> Mapping[str, str]:
    """Return the headers of every answer to a browser (O7, C11).

    Images may also come from memory (`blob:`): attachments are shown only after their digest was checked (C10).
    """
    policy = (
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def install_page(app: FastAPI, require_page: RequirePage, identity: PageIdentity) -> None:
    """Add `GET /`, the favicon, `/static` and the service worker to the application (O6, N9).

    Args:
        app: The host's application.
        require_page: Answers whether a request may see the page; without it a friendly 401 page says what to do.
        identity: The binding the page shows and verifies.
    """
    digest = _tree_digest(_STATIC)
    router = APIRouter(include_in_schema=False)
    context = {
        "static": f"/static/{digest}",
        "modules": sorted(path.name for path in (_STATIC / "js").glob("*.js") if path.name not in _APART),
        "styles": _STYLES,
        "identity": identity,
    }

    @router.get("/")
    async def page(request: Request) -> Response:
        allowed = await require_page(request)
        return _TEMPLATES.TemplateResponse(
            request,
            "page.html" if allowed else "sign_in.html",
            context,
            status_code=200 if allowed else 401,
            headers={**security_headers(), "Cache-Control": "no-store"},
        )

    @router.get(SERVICE_WORKER_PATH)
    async def service_worker() -> Response:
        # Its address stays the same for ever, and browsers ask again whether it is still this one.
        return FileResponse(
            _STATIC / "service_worker.js",
            media_type="text/javascript",
            headers={**security_headers(), "Service-Worker-Allowed": "/", "Cache-Control": "no-cache"},
        )

    app.include_router(router)
    app.mount("/static", _DigestedFiles(digest), name="static")


class _DigestedFiles(StaticFiles):
    """Static files below `/<digest>/`: kept for ever under the present digest, asked again under any other."""

    def __init__(self, digest: str) -> None:
        super().__init__(directory=_STATIC)
        self._digest = digest

    @override
    async def get_response(self, path: str, scope: Scope) -> Response:
        digest, _, inner = path.partition("/")
        response = await super().get_response(inner, scope)
        response.headers.update(security_headers())
        response.headers["Cache-Control"] = _FOREVER if digest == self._digest else "no-cache"
        return response


def _tree_digest(root: Path) -> str:
    """Return a short digest over the names and contents of all files, in a stable order."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file():
            total.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
            total.update(path.read_bytes())
    return total.hexdigest()[:16]
