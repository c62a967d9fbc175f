"""Dead letters: the newest ones of a reason, and one opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.event_time.policy import Verdict
from pipeline.instants import span_of, time_of
from pipeline.reading.pages.paging import Slice, page_of
from pipeline.reading.pages.table_reader import CurrentTables, text_sql
from pipeline.reading.record_decoding import DecodedValue, SchemaTexts, decode_value
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER

REASONS: Final = ("too_late", "partly_late", "future", "malformed", "erased")
LISTED: Final = 50
_LOOKED_AT: Final = 200_000
"""Rows that are looked through for the newest ones of a reason."""
_TOLD: Final = f'reason, detail, topic, partition, "offset", kafka_timestamp, event_time, user_id, watermark, {c.BATCH}'


@dataclass(frozen=True, slots=True)
class OpenedLetter:
    """A dead letter, opened."""

    row: Row
    sentence: str
    """Why it is one, by its times."""
    key: str | None
    value: DecodedValue


def letters_of(
    tables: CurrentTables, until: int | None = None, skip: int = 0, listed: int = LISTED, **only: str | None
) -> Slice:
    """The newest ones of batches up to one, without so many first ones; their numbers are those batches.

    `only` has values of columns that they must have; None for any.
    """
    found, ledger = tables.find(DEAD_LETTERS.name), tables.find(LEDGER.name)
    if found is None or ledger is None:
        return Slice([], None, None)
    first = _since(found, until)
    bounds = [f"{c.BATCH} >= {first or 0}", *([f"{c.BATCH} <= {until}"] if until else [])]
    chosen = [*bounds, *(f"{name} = {text_sql(value)}" for name, value in only.items() if value)]
    order = f'{c.BATCH} DESC, partition, "offset" DESC LIMIT {listed + 1} OFFSET {skip}'
    rows = _committed(chosen, order, found, ledger)
    return page_of(rows, listed, lambda row: int(row[c.BATCH]), until, skip, first and first - 1)


def letter_of(
    tables: CurrentTables, schemas: SchemaTexts, batch: int, partition: int, offset: int
) -> OpenedLetter | None:
    """The dead letter of a record; None where there is none, or its batch was never committed."""
    found, ledger = tables.find(DEAD_LETTERS.name), tables.find(LEDGER.name)
    if found is None or ledger is None:
        return None
    rows = rows_of(
        f"SELECT {_TOLD}, {c.KEY}, {c.VALUE} FROM dead WHERE {c.BATCH} = {batch} AND partition = {partition} "  # noqa: S608 - numbers
        f'AND "offset" = {offset} AND {c.BATCH} IN (SELECT {c.BATCH} FROM ledger WHERE {c.BATCH} = {batch}) LIMIT 1',
        dead=found,
        ledger=ledger,
    )
    if not rows:
        return None
    row, key = rows[0], rows[0][c.KEY]
    told = None if key is None else key.decode(errors="backslashreplace")
    return OpenedLetter(row, sentence(row), told, decode_value(row[c.VALUE], schemas))


def sentence(row: Row) -> str:
    """Why a record is a dead letter, by its times."""
    if row[c.REASON] == Verdict.ERASED:
        return "Its user was erased, and later events are dropped: nothing of it is kept."
    event_time, watermark, taken = row[c.EVENT_TIME], row[c.WATERMARK], row[c.KAFKA_TIMESTAMP]
    if event_time is None or not rules.in_range(event_time):
        return "It could not be read as an event with a time, and so no window can have it."
    if row[c.REASON] == Verdict.FUTURE:
        return f"It says {time_of(event_time)}, and Kafka took it {time_of(taken)}: it would have moved time ahead."
    if watermark is None or row[c.REASON] == Verdict.MALFORMED:
        return "It is no event that can be counted."
    missed = "some of its windows had" if row[c.REASON] == "partly_late" else "every window that it belongs to had"
    return (
        f"It says {time_of(event_time)}, {span_of(watermark - event_time)} before the watermark when its batch began, "
        f"{time_of(watermark)}: {missed} closed."
    )


def _committed(chosen: Sequence[str], order: str, dead: DeltaTable, ledger: DeltaTable) -> list[Row]:
    """The letters that are `chosen` by SQL, without those of batches that were written ahead and never committed.

    There is hardly one, so the ledger is asked about what was found: a join with all of it costs more than the letters.
    """
    void: set[int] = set()
    while True:
        those = [*chosen, *(f"{c.BATCH} <> {batch}" for batch in void)]
        rows = rows_of(f"SELECT {_TOLD} FROM dead WHERE {' AND '.join(those)} ORDER BY {order}", dead=dead)  # noqa: S608 - quoted
        if not rows:
            return rows
        batches = {row[c.BATCH] for row in rows}
        among = f"{c.BATCH} IN ({', '.join(map(str, batches))})"
        known = rows_of(f"SELECT DISTINCT {c.BATCH} FROM ledger WHERE {among}", ledger=ledger)  # noqa: S608 - numbers
        missing = batches - {row[c.BATCH] for row in known}
        if not missing:
            return rows
        void |= missing


def _since(table: DeltaTable, until: int | None) -> int | None:
    """The batch from which on rows are looked at, by the files' statistics; None where all can be."""
    files = pa.table(table.get_add_actions(flatten=True))
    if f"min.{c.BATCH}" not in files.column_names:
        return None
    if until is not None:
        files = files.filter(pc.less_equal(files[f"min.{c.BATCH}"], until))
    rows = 0
    for file in files.sort_by([(f"max.{c.BATCH}", "descending")]).to_pylist():
        rows += file["num_records"]
        if rows > _LOOKED_AT:
            return int(file[f"min.{c.BATCH}"])
    return None
