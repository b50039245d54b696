"""Logs hold ids, states and codes, and none of the private text that passes by (I9, O11)."""

import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog
from pydantic import BaseModel, ValidationError

from domain.refusal import refuse
from runtime.logging import configure_logging
from runtime.private_fields import exception_outline

MARKER = "planted private words"


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:], logging.raiseExceptions = handlers, raising
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def logs(capsys: pytest.CaptureFixture[str]) -> "Lines":
    configure_logging("json", "host")
    return Lines(capsys)


class Lines:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def read(self) -> list[dict[str, object]]:
        text = self._capsys.readouterr().err
        assert MARKER not in text
        return [json.loads(line) for line in text.splitlines()]


def test_ids_are_bound(logs: Lines) -> None:
    """O11: a line carries the process and the bound ids."""
    structlog.contextvars.bind_contextvars(request_id="r-1", task_id="task_1")
    structlog.get_logger().info("accepted", count=3)
    (line,) = logs.read()
    assert (line["event"], line["process"], line["request_id"], line["task_id"], line["count"]) == (
        "accepted", "host", "r-1", "task_1", 3,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["text", "title", "prompt", "path", "api_key", "Authorization", "instructions"])
def test_private_fields_are_dropped(logs: Lines, name: str) -> None:
    """I9: fields that carry text, paths or secrets are dropped at any depth."""
    structlog.get_logger().info("event", **{name: MARKER}, inner={"deep": [{"x": {name: MARKER}}]})
    (line,) = logs.read()
    assert line[name] == "[dropped]"


def test_library_arguments(logs: Lines) -> None:
    """I9: a library's line keeps its template, numbers and identifiers, and loses everything else."""
    logger = logging.getLogger("some.library")
    logger.warning("refused %s for %s after %d tries\n%s", MARKER, "task_1", 3, MARKER)
    logger.error("named %(what)s", {"what": MARKER})
    logger.error("wrong number %s %s", MARKER)
    first, second, third = logs.read()
    assert first["event"] == "refused [str] for task_1 after 3 tries"
    assert first["logger"] == "some.library"
    assert second["event"] == "named [str]"
    assert third["event"] == "wrong number %s %s"


def test_exceptions_without_messages(logs: Lines) -> None:
    """I9: an exception is told by its types and places."""

    class Input(BaseModel):
        count: int

    try:
        try:
            Input.model_validate({"count": MARKER})
        except ValidationError as error:
            raise refuse("not_found", MARKER) from error
    except Exception:
        logging.getLogger("library").exception("failed")
        structlog.get_logger().error("failed", exc_info=True)
        structlog.get_logger().exception("failed")
    lines = logs.read()
    assert len(lines) == 3
    for line in lines:
        assert str(line["exception"]).startswith("Refused(not_found) at test_logging.py:")
        assert "from ValidationError at " in str(line["exception"])


def test_unretrieved_and_warnings(logs: Lines) -> None:
    """I9: what asyncio and the warnings module say about an object does not quote it."""
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: %r", ValueError(MARKER))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(MARKER, UserWarning, stacklevel=1)
    first, second = logs.read()
    assert first["event"] == "Task exception was never retrieved"
    assert second["event"] == "UserWarning was raised"


def test_quiet_and_silent_libraries(logs: Lines) -> None:
    """I9: addresses in access logs and requests never get out."""
    logging.getLogger("uvicorn.access").error("GET /login?token=%s", MARKER)
    logging.getLogger("httpx").info("HTTP Request: %s", MARKER)
    assert logs.read() == []


def test_long_values_are_cut(logs: Lines) -> None:
    """I9: no long text gets through by an unknown name."""
    structlog.get_logger().info("event", odd="x" * 5000)
    (line,) = logs.read()
    assert len(str(line["odd"])) < 300


def test_console(capsys: pytest.CaptureFixture[str]) -> None:
    """O11: the console form is plain text on stderr."""
    configure_logging("console", "worker")
    structlog.get_logger().info("ready", port=18000)
    out, err = capsys.readouterr()
    assert out == ""
    assert "ready" in err
    assert "18000" in err


def test_outline_ends() -> None:
    """I9: a chain of causes is bounded, also when it is very long."""
    error: Exception = ValueError(MARKER)
    for _ in range(100):
        outer = RuntimeError(MARKER)
        outer.__cause__ = error
        error = outer
    assert len(exception_outline(error)) < 1000


def test_a_refused_handshake_is_no_error_of_the_server(logs: Lines) -> None:
    """O11: the host tells it with its code; what the server says of it says less and calls it an error."""
    logging.getLogger("uvicorn.error").error("ASGI callable returned without completing handshake.")
    logging.getLogger("uvicorn.error").error("something else")
    assert [line["event"] for line in logs.read()] == ["something else"]
