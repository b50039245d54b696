"""Markdown rendering: what a reader gets, and what hostile text never gets (O7, C11)."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.rendering import MAX_BRACKETS, MAX_NESTING, render_markdown

LINK = 'rel="noopener noreferrer nofollow"'


class _Audit(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in {"href", "src"}:
                self.addresses.append(value or "")


def assert_inert(markup: str) -> None:
    """No tag that loads or runs, no attribute beyond the few known, no address but an absolute one."""
    audit = _Audit()
    audit.feed(markup)
    allowed = "a blockquote br code em h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul"
    assert audit.tags <= set(allowed.split())
    assert audit.attributes <= {"href", "title", "rel", "class", "start"}
    assert all(re.match(r"(?i)(https?://|mailto:)", address) for address in audit.addresses)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold** _soft_ ~~gone~~ `code`", "<strong>bold</strong> <em>soft</em> <s>gone</s> <code>code</code>"),
        ("# Title", "<h3>Title</h3>"),
        ("###### Deep", "<h6>Deep</h6>"),
        ("```python\nx < 1\n```", '<pre><code class="language-python">x &lt; 1\n</code></pre>'),
        ("4. four\n5. five", '<ol start="4">'),
        ("|a|b|\n|-:|:-:|\n|1|2|", '<td class="align-right">1</td>'),
        ("[site](https://example.org/a?b=c)", f'<a href="https://example.org/a?b=c" {LINK}>site</a>'),
        ("[write](mailto:a@example.org)", f'<a href="mailto:a@example.org" {LINK}>write</a>'),
        ("<https://example.org>", f'<a href="https://example.org" {LINK}>https://example.org</a>'),
        ("中文，**加粗**。", "<p>中文，<strong>加粗</strong>。</p>"),
    ],
)
def test_renders_what_people_write(text: str, expected: str) -> None:
    """O7: Markdown is rendered on the server, code blocks with their language."""
    assert expected in render_markdown(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![cat](https://example.org/cat.png)", f'<a href="https://example.org/cat.png" {LINK}>cat</a>'),
        ("![](https://example.org/cat.png)", f'<a href="https://example.org/cat.png" {LINK}>https://example.org/cat'),
        ("[![badge](https://a.example/i)](https://b.example)", f'<a href="https://b.example" {LINK}>badge</a>'),
        ("![local](file:///etc/hostname)", "![local](file:///etc/hostname)"),
        ("![chart](chart.png)", "![chart](chart.png)"),
        ("[settings](/api/settings)", "[settings](/api/settings)"),
        ("[other](//example.org)", "[other](//example.org)"),
    ],
)
def test_nothing_loads_by_itself(text: str, expected: str) -> None:
    """C11: images become links; local and relative targets stay text."""
    markup = render_markdown(text)
    assert expected in markup
    assert_inert(markup)


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "<iframe src='https://example.org'></iframe><object data=x></object><embed src=x>",
    "<style>@import 'https://example.org'</style><link rel=stylesheet href=https://example.org>",
    "<p style='background:url(https://example.org)'>x</p>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<form action=/api/attachments method=post><button>go</button></form>",
    "<base href=https://example.org/><meta http-equiv=refresh content='0;url=https://example.org'>",
    "<details open ontoggle=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x](https://example.org \"a' onmouseover='alert(1)\")",
    '[x](https://example.org" onmouseover="alert(1))',
    '```js" onload="alert(1)\nx\n```',
    "```<script>\nx\n```",
    "[x](blob:https://example.org/1) [y](file:///etc/passwd) [z](ws://example.org)",
    "[x](https:/\\example.org) [y](http:javascript)",
    "a\x00b <scr\x00ipt>alert(1)</scr\x00ipt>",
    "\u202e<script>\u2066",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "|<script>|\n|-|\n|<img src=x onerror=alert(1)>|",
    "> " * 5_000 + "x",
    "- " * 5_000 + "x",
    "[" * 200_000,
    "![" * 4_000,
    "*" * 100_000 + "a" + "*" * 100_000,
    "`" * 3_000 + " " + "`" * 2_999,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:24].encode("ascii", "replace").decode())
def test_hostile_text_stays_inert(text: str) -> None:
    """O7, C11, O19: hostile text ends, and gives nothing that runs or loads."""
    assert_inert(render_markdown(text))


@given(st.text(alphabet=st.sampled_from(list("<>[]()!\"'`*_~|-#:/\\&; \n\tabjsxhtp.=0\x00")), max_size=200))
def test_any_text_stays_inert(text: str) -> None:
    """O7: for any arrangement of markup characters the result is inert."""
    assert_inert(render_markdown(text))


def test_bounds_are_where_they_say() -> None:
    """O19: too many brackets show as plain text; nesting stops at its limit."""
    brackets = "[" * (MAX_BRACKETS + 1)
    assert render_markdown(brackets) == f"<pre>{brackets}</pre>"
    assert render_markdown("> " * 500 + "x").count("<blockquote>") <= MAX_NESTING
