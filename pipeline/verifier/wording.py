"""Formats times and rows for the sentences of a finding."""

from collections.abc import Mapping
from datetime import UTC, datetime
from string import Formatter
from typing import Any

from pipeline.event_time import rules

Row = dict[str, Any]


class _Template(Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        return time_text(value) if format_spec == "time" else super().format_field(value, format_spec)


def fill(template: str, row: Mapping[str, Any]) -> str:
    """Returns a template with the columns of a row in its braces; `{name:time}` formats milliseconds as a time."""
    return _Template().vformat(template, (), row)


def time_text(milliseconds: int | None) -> str:
    """Returns milliseconds since 1970 as a time in UTC, `none` if there is none."""
    if milliseconds is None or milliseconds == rules.NO_WATERMARK:
        return "none"
    if not rules.EARLIEST_EVENT_MS <= abs(milliseconds) + 1 <= rules.LATEST_EVENT_MS:
        return f"{milliseconds} ms"
    text = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace(".000", "").replace("+00:00", "Z")
