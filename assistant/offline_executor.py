"""The offline model as a task's executor (O2): read, ask back, write, submit; every refusal has its answer. Pure."""

from collections.abc import Sequence

from assistant.condense import key_sentences
from assistant.deliveries import Language
from assistant.offline_asking import Source, read_of, resolve_source
from assistant.offline_grammar import Request
from assistant.offline_steps import FileNames, MadeCall, Step, appended, call
from assistant.offline_words import say, say_refused

REASON_CHARACTERS = 2_000


def executor_step(request: Request | None, made: Sequence[MadeCall], files: FileNames, language: Language) -> Step:
    """The executor's next step; it always ends with `submit_result` or `fail_task` (T5)."""
    if request is None or request.verb not in ("summarise", "copy", "write", "append"):
        return _fail(say("not_understood", language))
    target = request.target or ""
    found = resolve_source(request.source, made, files, language) if request.source else Source(target, target)
    if isinstance(found, Step):
        return found
    source, shown_name = found.path, found.name
    read = read_of(made, source)
    written = next((made_call for made_call in made if made_call.name == "write_file"), None)
    if request.verb == "write":
        return _submit_written(request, written, "", language) if written else _write(request, request.text or "")
    if read is None:
        return call("read_file", path=source)
    if read.answer.error is not None and not (request.verb == "append" and read.answer.error == "not_found"):
        return _fail(say_refused(read.answer.error, language, path=source, message=read.answer.message))
    content = "" if read.answer.error else str(read.answer.fields.get("content", ""))
    partly = bool(read.answer.fields.get("truncated"))
    if request.verb == "summarise":
        return _summarise(request, shown_name, (content, partly), written, language)
    if partly:
        return _fail(say("too_large", language, source=shown_name))
    if written is None:
        return _write(request, content if request.verb == "copy" else appended(content, request.text or ""))
    key = "copied" if request.verb == "copy" else "appended"
    return _submit_written(
        request, written, say(key, language, source=shown_name, target=request.target or ""), language
    )


def _summarise(
    request: Request, source: str, material: tuple[str, bool], written: MadeCall | None, language: Language
) -> Step:
    content, partly = material
    chosen = key_sentences(content)
    if not chosen:
        return _fail(say("empty_source", language, source=source))
    points = "\n".join(f"- {sentence}" for sentence in chosen)
    body = f"{say('summary_of_part', language)}\n\n{points}" if partly else points
    if request.target is None:
        return call("submit_result", summary=f"{say('summary_only', language, source=source)}\n\n{body}")
    if written is None:
        return _write(request, f"# {say('summary_head', language, source=source)}\n\n{body}\n")
    if written.answer.error == "approval_expired":
        # The work is done and only the file is missing: what is known still helps.
        return call(
            "submit_result",
            summary=f"{say('not_written', language, source=source, target=request.target)}\n\n{body}",
        )
    head = say("summarised", language, source=source, target=request.target)
    return _submit_written(request, written, f"{head}\n\n{body}", language)


def _write(request: Request, content: str) -> Step:
    return call("write_file", path=request.target, content=content)


def _submit_written(request: Request, written: MadeCall, summary: str, language: Language) -> Step:
    target = request.target or ""
    if written.answer.error is not None:
        return _fail(say_refused(written.answer.error, language, path=target, message=written.answer.message))
    return call("submit_result", summary=summary or say("written", language, path=target), artifacts=[target])


def _fail(reason: str) -> Step:
    return call("fail_task", reason=reason[:REASON_CHARACTERS])
