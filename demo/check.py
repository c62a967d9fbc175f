"""Compares the producer's truth file with the tables: every user in every window, and every rejected record."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tidemark.command_line.terminal import Table, styled
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, PAGE_VIEWS, PANES
from tidemark.producers.truth import Truth

Counts = Counter[tuple[str, int, str]]
"""Events by (user, window start in milliseconds, kind of event)."""

_KINDS: Final = ("page_views", "clicks")
_PUBLISHED_SQL: Final = """
    SELECT user_id, CAST(to_unixtime(window_start) AS BIGINT) * 1000 AS start, page_views, clicks FROM page_views
"""
# Until a window fires, only panes contain its counts.
_UNFIRED_SQL: Final = """
    SELECT user_id, pane_start AS start, SUM(page_views) AS page_views, SUM(clicks) AS clicks FROM panes
    WHERE report = 'page_views' AND batch IN (SELECT batch FROM ledger)
      AND pane_start + {window_ms} > COALESCE((SELECT MAX(watermark) FROM ledger), 0)
    GROUP BY user_id, pane_start
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A class of sent events or records, with its count in the tables."""

    name: str
    sent: int | None
    """None if only the tables know the number."""
    found: int

    @property
    def is_equal(self) -> bool:
        """Whether the tables have what was sent, if that is known."""
        return self.sent in (None, self.found)


def check(truth: Truth, warehouse: str) -> list[Line]:
    """Returns the counts of sent events and of the tables, which are equal in each line that has both.

    A deliberately late event is counted if it came while its window was open: a line of its own has their number, and
    no other line has them.
    """
    unfired = _UNFIRED_SQL.format(window_ms=truth.window_ms)
    counted = _count(_query(_PUBLISHED_SQL, warehouse)) + _count(_query(unfired, warehouse))
    due, late = _count(truth.on_time), _count(truth.too_late)
    in_time = counted - due
    # An event whose window of seconds was closed may count in its hour and day: then it is partly late.
    reasons = {row["reason"]: row["n"] for row in _query(_REASONS_SQL, warehouse).to_pylist()}
    rejected = reasons.get("too_late", 0) + reasons.get("partly_late", 0)
    return [
        Line("counted: user, window and kind", len(due), len(due) - len((due - counted) + (in_time - late))),
        Line("counted: events that were not late", due.total(), counted.total() - in_time.total()),
        Line("late: counted in their window, or not", late.total(), in_time.total() + rejected),
        Line("  of these counted: their window was open", None, in_time.total()),
        Line("from the future", truth.sent["future"], reasons.get("future", 0)),
        Line("malformed", truth.sent["malformed"], reasons.get("malformed", 0)),
    ]


_REASONS_SQL: Final = (
    "SELECT reason, COUNT(*) AS n FROM dead_letters WHERE batch IN (SELECT batch FROM ledger) GROUP BY 1"
)


def as_table(lines: list[Line]) -> Table:
    """Returns the lines as a table for the terminal."""
    table = Table("events", "sent", "in the tables", "", title="Sent events and tables")
    for line in lines:
        verdict = styled("equal", "green") if line.is_equal else styled("DIFFERENT", "red")
        compared = ("", "") if line.sent is None else (f"{line.sent:,}", verdict)
        table.add_row(line.name, compared[0], f"{line.found:,}", compared[1])
    return table


def _query(query: str, warehouse: str) -> pa.Table:
    engine = QueryBuilder()
    for spec in (DEAD_LETTERS, LEDGER, PAGE_VIEWS, PANES):
        engine = engine.register(spec.name, DeltaTable(spec.uri(warehouse)))
    return pa.table(engine.execute(query).read_all())


def _count(rows: pa.Table) -> Counts:
    users, starts, *columns = (column.to_pylist() for column in rows.columns)
    counts: Counts = Counter()
    for kind, values in zip(_KINDS, columns, strict=True):
        counts.update({(user, start, kind): n for user, start, n in zip(users, starts, values, strict=True) if n})
    return counts
