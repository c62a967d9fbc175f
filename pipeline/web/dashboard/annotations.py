"""Events of the service that explain a period: restarts, outages, corrections, erasures, and lost records.

Restarts, erasures and losses are at the time of the service's clock at which they were recorded; a correction is at the
times of the events that it added.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tidemark.command_line.counts import counted, span_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.reading.window_names import moment_text
from tidemark.pipeline.tables.ledger import has_columns
from tidemark.pipeline.tables.opening import read_opening
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, ERASURES, LEDGER

MOST: Final = 12
"""Annotations of a chart: the newest."""
_OUTAGE_MS: Final = 300_000
"""A longer time without a commit before a start is called an outage."""


class Kind(StrEnum):
    """Kinds of annotations."""

    RESTART = "Restart"
    OUTAGE = "Outage"
    RESET = "Reset"
    CORRECTION = "Correction"
    ERASURE = "Erasure"
    LOSS = "Loss"


@dataclass(frozen=True, slots=True)
class Annotation:
    """An event of the service; times in milliseconds."""

    kind: Kind
    start: int
    """Where it is on the axis of the chart."""
    end: int
    """The end of its span; `start` without a span."""
    text: str


def annotations_of(tables: CurrentTables, summary: LedgerSummary, period: Period) -> list[Annotation]:
    """Returns the annotations of a period in order; at most the newest `MOST`."""
    found = [*_starts(tables, summary, period), *_losses(tables, period)]
    found += [*_corrections(tables, period), *_erasures(tables, period)]
    return sorted(found, key=lambda annotation: (annotation.start, annotation.kind))[-MOST:]


def _starts(tables: CurrentTables, summary: LedgerSummary, period: Period) -> Iterator[Annotation]:
    ledger = tables.find(LEDGER.name)
    if ledger is None:
        return
    batches = [number * EPOCH for number in range(2, summary.epoch + 1)]
    openings = [row for row in _commits(tables, batches) if row["opening"] is not None]
    within = [row for row in openings if period.start <= row["at"] < period.end]
    within += [row for row in openings if row["at"] >= period.end][:1]  # an outage may have started in the period
    read = {row[c.BATCH]: read_opening(row["opening"]) for row in within}
    last_batches = [opening.last_batch for opening in read.values()]
    before: dict[int, int] = {row[c.BATCH]: row["at"] for row in _commits(tables, last_batches)}
    for row in within:
        opening, at = read[row[c.BATCH]], int(row["at"])
        if opening.reset is not None:
            text = "the time until which numbers are complete was set back by hand"
            if at < period.end:
                yield Annotation(Kind.RESET, at, at, f"{text}, because: {opening.reset.reason}")
            continue
        last = before.get(opening.last_batch, at)
        if at - last < _OUTAGE_MS:
            if at < period.end:
                yield Annotation(Kind.RESTART, at, at, "the service was started again")
        elif last < period.end:
            text = f"nothing was read for {span_of(at - last)}, until {moment_text(at, period.zone)}"
            text += ": the service did not run, or had no events"
            yield Annotation(Kind.OUTAGE, max(last, period.start), min(at, period.end), text)


def _commits(tables: CurrentTables, batches: Sequence[int]) -> list[Row]:
    """Returns when each of some batches was committed, and the opening that it has."""
    ledger = tables.find(LEDGER.name)
    if not batches or ledger is None:
        return []
    numbers = ", ".join(map(str, sorted({*batches})))
    return rows_of(
        f"SELECT {c.BATCH}, max(committed_at) AS at, max(opening) AS opening FROM ledger "  # noqa: S608 - our own numbers
        f"WHERE {c.BATCH} IN ({numbers}) GROUP BY {c.BATCH} ORDER BY {c.BATCH}",
        ledger=ledger,
    )


def _losses(tables: CurrentTables, period: Period) -> Iterator[Annotation]:
    ledger = tables.find(LEDGER.name)
    if ledger is None or not has_columns(ledger, ["lost"]):
        return
    rows = rows_of(
        f"SELECT {c.BATCH}, min(committed_at) AS at, CAST(sum(lost) AS BIGINT) AS lost FROM ledger "  # noqa: S608 - ours
        f"WHERE lost > 0 AND {_within_sql('committed_at', period)} GROUP BY {c.BATCH} ORDER BY 1 DESC LIMIT {MOST}",
        ledger=ledger,
    )
    for row in rows:
        text = f"{counted(row['lost'], 'record')} had been deleted before they were read: their events are in no number"
        yield Annotation(Kind.LOSS, row["at"], row["at"], text)


def _corrections(tables: CurrentTables, period: Period) -> Iterator[Annotation]:
    table = tables.find(CORRECTIONS.name)
    if table is None:
        return
    rows = rows_of(
        "SELECT correction, min(at) AS at, min(event_time) AS first, max(event_time) AS last, count(*) AS events "  # noqa: S608 - ours
        'FROM (SELECT correction, topic, "partition", "offset", min(corrected_at) AS at, min(event_time) AS event_time '
        f"FROM corrections WHERE {_within_sql('event_time', period)} GROUP BY 1, 2, 3, 4) AS every_event "
        f"GROUP BY 1 ORDER BY 1 DESC LIMIT {MOST}",
        corrections=table,
    )
    for row in rows:
        added = f"{counted(row['events'], 'late event')} of this time {'was' if row['events'] == 1 else 'were'} added"
        yield Annotation(
            Kind.CORRECTION, row["first"], row["last"], f"{added} at {moment_text(row['at'], period.zone)}"
        )


def _erasures(tables: CurrentTables, period: Period) -> Iterator[Annotation]:
    table = tables.find(ERASURES.name)
    if table is None:
        return
    rows = rows_of(
        f"SELECT erasure, min(erased_at) AS at FROM erasures WHERE {_within_sql('erased_at', period)} "  # noqa: S608 - ours
        f"GROUP BY 1 ORDER BY 1 DESC LIMIT {MOST}",
        erasures=table,
    )
    text = "a user was erased: users and visits of all days no longer have this user, page views still count"
    for row in rows:
        yield Annotation(Kind.ERASURE, row["at"], row["at"], text)


def _within_sql(column: str, period: Period) -> str:
    return f"{column} >= {period.start} AND {column} < {period.end}"
