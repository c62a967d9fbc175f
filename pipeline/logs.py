"""The log of the commands: lines of Tidemark and of Python's libraries on standard error, in one format."""

import logging
import sys
from collections.abc import Sequence
from typing import Final, Literal

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

from tidemark.command_line.printable import printable, printable_lines

LogFormat = Literal["console", "json"]

_COMMON: Final[Sequence[Processor]] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def _as_text(_: object, __: str, event: EventDict) -> EventDict:
    """Escapes text of events, brokers and stores, so that a terminal only displays it."""
    return {
        name: printable_lines(value) if name == "exception" else printable(value) if isinstance(value, str) else value
        for name, value in event.items()
    }


def configure_logs(log_format: LogFormat = "console") -> None:
    """Writes lines for a person, or JSON lines. Tracebacks have no local variables, which may contain passwords."""
    rendering: Sequence[Processor] = (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
    if log_format == "console":
        lines = ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain_traceback)
        rendering = (structlog.processors.format_exc_info, _as_text, lines)
    structlog.configure(
        processors=[*_COMMON, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # the stream at the time of writing
    )
    libraries = ProcessorFormatter(
        foreign_pre_chain=[*_COMMON, structlog.stdlib.add_logger_name],
        processors=[ProcessorFormatter.remove_processors_meta, *rendering],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(libraries)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
