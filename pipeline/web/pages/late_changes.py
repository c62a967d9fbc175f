"""Windows that changed after they fired, because of late events or corrections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.tables.file_statistics import highest
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER
from tidemark.pipeline.web.pages.window_sums import ReportWindow

_LISTED: Final = 8
_RUNS: Final = 5


@dataclass(frozen=True, slots=True)
class LateWindow:
    """A window that fired again, and the commit time in ms of the batch that last changed it."""

    window: ReportWindow
    changed_at: int | None


@dataclass(frozen=True, slots=True)
class Correction:
    """The events that a run of `tidemark correct` added to a report; `at` is in milliseconds."""

    correction_id: int
    at: int
    report: str
    events: int


def late_windows(tables: CurrentTables, windows: Sequence[ReportWindow], listed: int = _LISTED) -> list[LateWindow]:
    """Returns the newest `listed` windows with late events, newest first."""
    late = [window for window in reversed(windows) if window.late_events][:listed]
    ledger = tables.find(LEDGER.name)
    if not late or ledger is None:
        return []
    batches = sorted({window.published_batch for window in late})
    rows = rows_of(
        f"SELECT {c.BATCH}, min(committed_at) AS at FROM ledger "  # noqa: S608 - our own numbers
        f"WHERE {c.BATCH} >= {batches[0]} AND {c.BATCH} IN ({', '.join(map(str, batches))}) GROUP BY {c.BATCH}",
        ledger=ledger,
    )
    committed = {row[c.BATCH]: row["at"] for row in rows}
    return [LateWindow(window, committed.get(window.published_batch)) for window in late]


def corrections_of(tables: CurrentTables, span: tuple[int, int] | None = None) -> list[Correction]:
    """Returns the newest corrections, newest first; with `span` those of windows that end in it."""
    table = tables.find(CORRECTIONS.name)
    if table is None or (newest := highest(table, "correction")) is None:
        return []
    condition = f"correction > {newest - _RUNS}"
    if span is not None:
        condition = f"{c.WINDOW_END_MS} > {span[0]} AND {c.WINDOW_END_MS} <= {span[1]}"
    rows = rows_of(
        "SELECT correction, report, min(corrected_at) AS at, count(*) AS events FROM corrections "  # noqa: S608 - our own numbers
        f"WHERE {condition} GROUP BY 1, 2 ORDER BY 1 DESC, 2 LIMIT {_LISTED}",
        corrections=table,
    )
    return [Correction(row["correction"], row["at"], row["report"], row["events"]) for row in rows]
