"""How the commands write their log."""

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback


def configure_logs() -> None:
    """Lines for a person. Tracebacks without local variables: structlog's own have them, and so every password."""
    *others, _ = structlog.get_config()["processors"]
    structlog.configure(processors=[*others, ConsoleRenderer(exception_formatter=plain_traceback)])
