"""The log of the commands: our lines and those of Python's libraries on standard error, in one format."""

import logging
import sys
from collections.abc import Sequence
from typing import Final, Literal

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

from command_line.printable import printable, printable_lines

LogFormat = Literal["console", "json"]

_COMMON: Final[Sequence[Processor]] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def _as_text(_: object, __: str, event: EventDict) -> EventDict:
    """Whatever a line has of events, brokers and stores is text: a terminal that shows it does nothing else."""
    return {
        name: printable_lines(found) if name == "exception" else printable(found) if isinstance(found, str) else found
        for name, found in event.items()
    }


def configure_logs(log_format: LogFormat = "console") -> None:
    """Lines for a person, or an object a line. Tracebacks without local variables, for these have every password."""
    ending: Sequence[Processor] = (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
    if log_format == "console":
        lines = ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain_traceback)
        ending = (structlog.processors.format_exc_info, _as_text, lines)
    structlog.configure(
        processors=[*_COMMON, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # whatever it is when a line is written
    )
    theirs = ProcessorFormatter(
        foreign_pre_chain=[*_COMMON, structlog.stdlib.add_logger_name],
        processors=[ProcessorFormatter.remove_processors_meta, *ending],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(theirs)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
