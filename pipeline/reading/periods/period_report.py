"""`tidemark report --period`: an answer as text, optionally once the period is complete."""

import json
import time
from collections.abc import Callable
from typing import Final

from tidemark.pipeline.errors import NothingFound
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.periods.ask import Asker, Words
from tidemark.pipeline.reading.periods.figures import FigureState
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.reading.periods.traffic_json import as_json
from tidemark.pipeline.reading.periods.traffic_rows import as_csv, as_parquet
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.tables.ledger import require_warehouse

FORMS: Final[dict[str, Callable[[PeriodTraffic], str | bytes]]] = {
    "json": lambda traffic: json.dumps(as_json(traffic), indent=1) + "\n",
    "csv": as_csv,
    "parquet": as_parquet,
}
"""How an answer is written, by the name of the format."""
_PAUSE_S: Final = 1.0
_OF_COMPLETE: Final = ("visitors", "visits", "page_views", "clicks")
"""The figures that must be complete; visits that began in the period may go on for long."""
_DONE: Final = (FigureState.FINAL, FigureState.COMPLETE)


def period_traffic(
    warehouse: str,
    words: Words,
    *,
    waits: bool,
    clock: Callable[[], int] = now_ms,
    pause: Callable[[float], object] = time.sleep,
) -> PeriodTraffic:
    """Returns the answer of a warehouse; with `waits` once the watermark has passed the end of the period.

    `clock` returns the time in ms, `pause` waits for seconds. Raises SetUpError if there is no warehouse, or the zone
    of its reports skipped the day, and NothingFound before the first batch.
    """
    require_warehouse(warehouse)
    reader, asker, now = TableReader(warehouse), Asker(), clock()  # today stays the day on which it was asked
    while True:
        traffic = reader.read(lambda tables, summary: asker.ask(words, tables, summary, now))
        if traffic is None and not waits:
            raise NothingFound("no batch was committed yet: `tidemark status` says what is missing")
        if traffic is not None and (not waits or is_complete(traffic) or not _may_become(traffic)):
            return traffic
        pause(_PAUSE_S)


def is_complete(traffic: PeriodTraffic) -> bool:
    """Returns whether the page views, and every other figure that is known, cover the whole period."""
    return not why_incomplete(traffic)


def why_incomplete(traffic: PeriodTraffic) -> str:
    """Returns why figures do not cover the whole period, and what to do; empty if they do."""
    others = [traffic.figures[name].coverage for name in _OF_COMPLETE]
    known = [coverage for coverage in others if coverage.state is not FigureState.UNKNOWN]
    missing = [coverage for coverage in (traffic.coverage, *known) if coverage.state not in _DONE]
    if not missing:
        return ""
    if any(coverage.state is FigureState.SO_FAR for coverage in missing):
        return "its figures cover the time until the watermark only. Ask again later, or add --wait"
    first = missing[0]
    if first.state is FigureState.PARTIAL:
        return f"only a part of it is known: {first.reason}. Choose a later period"
    return f"{first.reason}. Ask again later, or add --wait"


def _may_become(traffic: PeriodTraffic) -> bool:
    """Returns whether a figure waits for the watermark; others are unknown for good."""
    waits = any(traffic.figures[name].coverage.state is FigureState.SO_FAR for name in _OF_COMPLETE)
    return waits or rules.as_number(traffic.sources.watermark) < traffic.question.period.end
