"""Retention of a table's rows and versions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableRetention:
    """Retention of one table, in milliseconds."""

    time_travel_ms: int | None = None
    """Earlier versions can be read for this long; None for the table's default."""
    rows_ms: int | None = None
    """Rows are retained for this long; None for ever."""
