"""How sentences name times, and what rows tell."""

from collections.abc import Mapping
from datetime import UTC, datetime
from string import Formatter
from typing import Any

from pipeline.event_time import rules

Row = dict[str, Any]


class _Sentence(Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        return moment(value) if format_spec == "moment" else super().format_field(value, format_spec)


def filled(sentence: str, row: Mapping[str, Any]) -> str:
    """A sentence that names columns in braces, with those of a row; `{name:moment}` is a time in milliseconds."""
    return _Sentence().vformat(sentence, (), row)


def moment(milliseconds: int | None) -> str:
    """A time in UTC."""
    if milliseconds is None or milliseconds == rules.NO_WATERMARK:
        return "none"
    if not rules.EARLIEST_EVENT_MS <= abs(milliseconds) + 1 <= rules.LATEST_EVENT_MS:
        return f"{milliseconds} ms"
    told = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return told.isoformat(timespec="milliseconds").replace(".000", "").replace("+00:00", "Z")
