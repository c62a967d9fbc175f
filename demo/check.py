"""The producer's truth held against the tables: every user in every window, and every rejected record."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from command_line.terminal import Table, styled
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER, PAGE_VIEWS, PANES
from producers.truth import Truth

Counts = Counter[tuple[str, int, str]]
"""Events by (user, window start in milliseconds, kind of event)."""

_KINDS: Final = ("page_views", "clicks")
_PUBLISHED: Final = """
    SELECT user_id, CAST(to_unixtime(window_start) AS BIGINT) * 1000 AS start, page_views, clicks FROM page_views
"""
# A window that has not fired yet has its counts in panes only.
_WAITING: Final = """
    SELECT user_id, pane_start AS start, SUM(page_views) AS page_views, SUM(clicks) AS clicks FROM panes
    WHERE report = 'page_views' AND batch IN (SELECT batch FROM ledger)
      AND pane_start + {window_ms} > COALESCE((SELECT MAX(watermark) FROM ledger), 0)
    GROUP BY user_id, pane_start
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was sent, and how much of it the tables have."""

    what: str
    sent: int
    found: int


def check(truth: Truth, warehouse: str) -> list[Line]:
    """The events sent and those in the tables, line by line; all is well where each line's numbers are equal.

    A deliberately late event counts as found whether it was rejected or still in time to be counted.
    """
    counted = _count(_ask(_PUBLISHED, warehouse)) + _count(_ask(_WAITING.format(window_ms=truth.window_ms), warehouse))
    due, late = _count(truth.on_time), _count(truth.too_late)
    in_time = counted - due
    reasons = {row["reason"]: row["n"] for row in _ask(_REASONS, warehouse).to_pylist()}
    return [
        Line("counted: user, window and kind", len(due), len(due) - len((due - counted) + (in_time - late))),
        Line("counted: events", due.total(), counted.total() - in_time.total()),
        Line("too late (or still in time)", late.total(), reasons.get("too_late", 0) + in_time.total()),
        Line("from the future", truth.sent["future"], reasons.get("future", 0)),
        Line("malformed", truth.sent["malformed"], reasons.get("malformed", 0)),
    ]


_REASONS: Final = "SELECT reason, COUNT(*) AS n FROM dead_letters WHERE batch IN (SELECT batch FROM ledger) GROUP BY 1"


def as_table(lines: list[Line]) -> Table:
    """The lines for a terminal."""
    table = Table("what", "sent", "in the tables", "", title="The producer's truth against the tables")
    for line in lines:
        mark = styled("equal", "green") if line.sent == line.found else styled("DIFFERENT", "red")
        table.add_row(line.what, f"{line.sent:,}", f"{line.found:,}", mark)
    return table


def _ask(query: str, warehouse: str) -> pa.Table:
    engine = QueryBuilder()
    for spec in (DEAD_LETTERS, LEDGER, PAGE_VIEWS, PANES):
        engine = engine.register(spec.name, DeltaTable(spec.uri(warehouse)))
    return pa.table(engine.execute(query).read_all())


def _count(rows: pa.Table) -> Counts:
    users, starts, *numbers = (column.to_pylist() for column in rows.columns)
    counts: Counts = Counter()
    for kind, values in zip(_KINDS, numbers, strict=True):
        counts.update({(user, start, kind): n for user, start, n in zip(users, starts, values, strict=True) if n})
    return counts
