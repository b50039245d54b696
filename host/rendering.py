"""Markdown to safe HTML for stored messages (O7, C11).

Two independent lines: the parser never passes raw HTML through, and the sanitiser afterwards keeps a short list of
tags. The hard thing is what must not happen by itself: nothing in the result makes a browser load anything.
"""

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from typing_extensions import override

LINK_SCHEMES: Final = frozenset({"http", "https", "mailto"})
LINK_REL: Final = "noopener noreferrer nofollow"
MAX_NESTING: Final = 32
"""Levels the parser follows; what is nested deeper is left out of the HTML (the stored text keeps it)."""
MAX_BRACKETS: Final = 5_000
"""A text with more `[` than this is shown as plain text: unclosed brackets cost the parser their square."""
HEADING_SHIFT: Final = 2
"""The page's own headings are h1 and h2, so that a reply's outline continues below them (O6)."""

_TAGS: Final = frozenset(
    {"a", "blockquote", "br", "code", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "strong"}
    | {"table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ATTRIBUTES: Final = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}, "td": {"class"}, "th": {"class"}}
_CLASSES: Final = re.compile(r"language-[A-Za-z0-9_+#.-]{1,40}|align-(?:left|center|right)")
_ALIGNMENT: Final = re.compile(r"text-align:(left|center|right)")
_ABSOLUTE: Final = re.compile(r"(?:https?://[^/?#\\\s]|mailto:[^\s])", re.IGNORECASE)


def render_markdown(text: str) -> str:
    """Return sanitised HTML for Markdown written by a model or a person (O7, C11).

    Raw HTML shows as the text it is. Images become links and are never loaded. Links keep only absolute `http`,
    `https` and `mailto` addresses; any other target stays visible as source text. Never fails on any input.
    """
    too_many = text.count("[") > MAX_BRACKETS
    return nh3.clean(
        f"<pre>{html.escape(text)}</pre>" if too_many else _PARSER.render(text),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_keep_attribute,
        link_rel=LINK_REL,
        url_schemes=LINK_SCHEMES,
        url_relative="deny",
    )


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    if name == "class":
        return value if _CLASSES.fullmatch(value) else None
    if name == "start":
        return value if value.isdecimal() and len(value) <= 9 else None
    return value


def _is_link(address: str) -> bool:
    return _ABSOLUTE.match(address.strip()) is not None


def _make_inert(state: StateCore) -> None:
    """Rewrite tokens so that the strict content policy has nothing to block: no images, no style attributes."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + HEADING_SHIFT)}"
        elif token.type in ("th_open", "td_open"):
            _align_by_class(token)
        elif token.children:
            token.children = list(_images_as_links(token.children))


def _align_by_class(token: Token) -> None:
    alignment = _ALIGNMENT.fullmatch(str(token.attrs.pop("style", "")))
    if alignment:
        token.attrSet("class", f"align-{alignment[1]}")


def _images_as_links(tokens: Sequence[Token]) -> Iterator[Token]:
    link_depth = 0
    for token in tokens:
        link_depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type != "image":
            yield token
            continue
        address = str(token.attrGet("src") or "")
        words = Token("text", "", 0, content=token.content.strip() or address)
        # A linked image keeps the outer link alone: anchors must not nest.
        if link_depth or not _is_link(address):
            yield words
            continue
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield words
        yield Token("link_close", "a", -1)


class _LinkChecking(MarkdownIt):
    """The parser with its own hook for link targets narrowed: what is refused stays in the text, unlinked."""

    @override
    def validateLink(self, url: str) -> bool:
        return _is_link(url)


def _build_parser() -> MarkdownIt:
    parser = _LinkChecking("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.push("make_inert", _make_inert)
    return parser


_PARSER: Final = _build_parser()
