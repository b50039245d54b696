"""The offline model's grammar (O2): what it understands, what it leaves alone, and that it reads back what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.deliveries import Language, language_of
from assistant.offline_grammar import REQUEST_CHARACTERS, Request, instruction, means_attachment, parse

_SUMMARISE = [
    "summarise notes.txt into summary.md",
    "Summarize notes.txt to summary.md.",
    "Please summarise notes.txt into summary.md, thanks!",
    "Could you summarise the file notes.txt into the file summary.md?",
    "summarise “notes.txt” and save it as summary.md",
    "Hi twin, summarise notes.txt and write the summary to summary.md",
    "write a summary of notes.txt to summary.md",
    "delegate a task: summarise notes.txt into summary.md",
    "summarise notes.txt into summary.md in the background",
    "总结 notes.txt 到 summary.md",
    "请把 notes.txt 总结到 summary.md。",
    "总结notes.txt到summary.md",
    "帮我总结一下 notes.txt 并写到 summary.md",
    "请将 notes.txt 的内容概括为 summary.md",
    "总结 notes.txt，保存到 summary.md",
]


@pytest.mark.parametrize("text", _SUMMARISE)
def test_summarise(text: str) -> None:
    """O2: the main job in many words and two languages."""
    assert parse(text) == Request("summarise", "notes.txt", "summary.md")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("summarise notes.txt", Request("summarise", "notes.txt")),
        ("总结 会议 记录.txt", None),
        ("总结「会议 记录.txt」", Request("summarise", "会议 记录.txt")),
        ("summarise this into s.md", Request("summarise", "this", "s.md")),
        ("summarise the attachment into s.md", Request("summarise", "the attachment", "s.md")),
        ("总结一下附件", Request("summarise", "附件")),
        ("copy a.txt to b.txt", Request("copy", "a.txt", "b.txt")),
        ("copy 'a b.txt' as c.txt", Request("copy", "a b.txt", "c.txt")),
        ("把 a.txt 复制到 b.txt", Request("copy", "a.txt", "b.txt")),
        ("复制 a.txt 到 b.txt", Request("copy", "a.txt", "b.txt")),
        ("write 'it's here' to f.txt", Request("write", None, "f.txt", "it's here")),
        ('write "line 1\nline 2" into d/f.txt', Request("write", None, "d/f.txt", "line 1\nline 2")),
        ("create the file f.txt with the text 'hi'", Request("write", None, "f.txt", "hi")),
        ("把“你好”写入 f.txt", Request("write", None, "f.txt", "你好")),
        ("在 f.txt 中写入“你好”", Request("write", None, "f.txt", "你好")),
        ("append 'x y' to f.txt", Request("append", None, "f.txt", "x y")),
        ("add 'x' to the end of f.txt", Request("append", None, "f.txt", "x")),
        ("在 f.txt 末尾追加“x”", Request("append", None, "f.txt", "x")),
        ("把“x”追加到 f.txt 末尾", Request("append", None, "f.txt", "x")),
        ("list files", Request("list_files")),
        ("Show me my files!", Request("list_files")),
        ("list files in docs", Request("list_files", "docs")),
        ("列出文件", Request("list_files")),
        ("列出 docs 中的文件", Request("list_files", "docs")),
        ("list tasks", Request("list_tasks")),
        ("show all my tasks", Request("list_tasks")),
        ("任务列表", Request("list_tasks")),
        ("有哪些任务？", Request("list_tasks")),
        ("show task task_01J", Request("show_task", "task_01J", None, "task_01J")),
        ("show task Summarise notes.txt into s.md", Request("show_task", None, None, "Summarise notes.txt into s.md")),
        ("查看任务 写总结", Request("show_task", None, None, "写总结")),
        ("任务 写总结 怎么样了？", Request("show_task", None, None, "写总结")),
        ("read notes.txt", Request("read", "notes.txt")),
        ("show me the contents of README", Request("read", "README")),
        ("读取 notes.txt", Request("read", "notes.txt")),
        ("查看 notes.txt 的内容", Request("read", "notes.txt")),
    ],
)
def test_requests(text: str, expected: Request | None) -> None:
    """O2: every form of this issue's requests."""
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "hello", "what's the weather", "write a poem", "summarise", "open the door", "你好", "read aloud", "?"]
)
def test_everything_else_is_left_alone(text: str) -> None:
    """O2: what it does not understand it says, it does not guess."""
    assert parse(text) is None


@given(
    st.sampled_from(["summarise", "copy"]),
    st.text(alphabet=st.sampled_from("abZ09 ._-/()字 é'"), min_size=1, max_size=30).filter(lambda name: name.strip()),
    st.text(alphabet=st.sampled_from("abZ09 ._-/()字"), min_size=1, max_size=30).filter(lambda name: name.strip()),
    st.sampled_from(["en", "zh"]),
)
def test_instructions_are_read_back(verb: str, source: str, target: str, language: Language) -> None:
    """O2: what the main agent writes as instructions the executor reads as the same request."""
    request = Request("copy" if verb == "copy" else "summarise", source, target)
    assert parse(instruction(request, language)) == request


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    """O19: no text makes the parser raise."""
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "write " + "'" * REQUEST_CHARACTERS,
        "在 a" + " " * (REQUEST_CHARACTERS - 10) + "b",
        "summarise " + "to " * 1_300,
        "please " * 560,
        "把“" + "”写到 " * 700,
        "x" * 64_000,
        " " * 3_000 + "x",
        "x" + ",.! " * 900 + "x",
        "list files" + " please" * 500,
        "summarise " + "a" * 3_900,
    ],
    ids=range(10),
)
def test_hostile_texts_are_cheap(text: str) -> None:
    """O19: no request makes the grammar's patterns run away; one that did would hit the time limit of all tests."""
    assert parse(text) == parse(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("总结 notes.txt 到 summary.md", "zh"),
        ("把 annual-report-2024.txt 复制到 copy-of-annual-report.txt", "zh"),
        ("summarise 会议.txt into 摘要.md", "en"),
        ("", "en"),
        ("你好", "zh"),
        ("Please translate 你好 into English for me", "en"),
    ],
)
def test_language(text: str, language: str) -> None:
    """O2: the person's language, not that of file names."""
    assert language_of(text) == language


def test_this_means_an_attachment() -> None:
    """O2: pronouns stand for the one attachment."""
    assert all(means_attachment(word) for word in ("this", "The attachment", "附件", "这个文件"))
    assert not means_attachment("this.txt")
