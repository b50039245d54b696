"""Structured logs on stderr, as JSON or for a console; libraries' records take the same way (O11).

Bind ids with `structlog.contextvars.bind_contextvars(request_id=…)`; they appear in every line of that context.
"""

import logging
import sys
from typing import Any, Literal

import structlog

from runtime.private_fields import drop_private_fields, exception_outline, library_message, outline_exception

QUIET_LIBRARIES = (
    "aiosqlite", "alembic", "anthropic", "asyncio", "botocore", "fastapi", "google_genai", "groq", "hpack", "httpcore",
    "httpx", "httpx2", "openai", "sqlalchemy", "temporalio", "urllib3", "uvicorn", "websockets",
)  # fmt: skip
SILENT_LIBRARIES = ("uvicorn.access",)
_REFUSED_HANDSHAKE = "ASGI callable returned without completing handshake."
"""What uvicorn says of every handshake that was refused, as an error; the host says it with its code (O11)."""


class _LibraryHandler(logging.Handler):
    """Hands the records of the standard logging on to structlog, without what may be private."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields: dict[str, Any] = {"logger": record.name}
            if record.exc_info and record.exc_info[1] is not None:
                fields["exception"] = exception_outline(record.exc_info[1])
            structlog.get_logger().log(record.levelno, library_message(record), **fields)
        except Exception:
            self.handleError(record)


class _StderrLogger(structlog.PrintLogger):
    """Writes to what stderr is at this moment."""

    def __init__(self, *_: object) -> None:
        super().__init__(sys.stderr)


def configure_logging(log_format: Literal["console", "json"], process: str, level: int = logging.INFO) -> None:
    """Set up logging for this process.

    Args:
        log_format: One JSON object a line, or coloured text for a person.
        process: The name that every line carries: `host`, `worker`, `up`.
        level: The least level of Steward's own lines; libraries begin at warning.
    """
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _process_name(process),
            outline_exception,
            drop_private_fields,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_StderrLogger,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler()]
    root.setLevel(level)
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in SILENT_LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    server = logging.getLogger("uvicorn.error")
    if _is_no_refusal not in server.filters:
        server.addFilter(_is_no_refusal)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return record.msg != _REFUSED_HANDSHAKE


def _process_name(process: str) -> structlog.typing.Processor:
    def add(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event.setdefault("process", process)
        return event

    return add
