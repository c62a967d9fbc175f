"""How long a table retains old rows and versions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableRetention:
    """Retention of one table, in milliseconds."""

    time_travel_ms: int | None = None
    """How long earlier versions can be read; None for the table's default."""
    rows_ms: int | None = None
    """How long rows are retained; None for ever."""
