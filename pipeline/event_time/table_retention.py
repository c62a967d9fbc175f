"""How long a table keeps what is old."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableRetention:
    """Of one table, in milliseconds."""

    time_travel_ms: int | None = None
    """How long its earlier versions can be read; None for as long as is its own way."""
    rows_ms: int | None = None
    """How long its rows are kept; None for ever."""
