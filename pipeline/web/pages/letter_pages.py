"""Dead letters: a list of the newest, and one in detail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tidemark.command_line.counts import span_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.record_decoding import DecodedValue, SchemaTexts, decode_value
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import Verdict
from tidemark.pipeline.reading.ledger_summary import Account, LedgerSummary, account_of, account_sql
from tidemark.pipeline.reading.table_reader import CurrentTables, text_sql
from tidemark.pipeline.reading.window_names import moment_text
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER
from tidemark.pipeline.tables.transactions import REMOVED_APP
from tidemark.pipeline.web.pages.paging import Slice, page_of

REASONS: Final = ("too_late", "partly_late", "future", "malformed", "erased")
LISTED: Final = 50
_SEARCHED: Final = 200_000
"""Number of rows that are searched for the newest letters of a reason."""
_FIELDS_SQL: Final = (
    f'reason, detail, topic, partition, "offset", kafka_timestamp, event_time, user_id, watermark, {c.BATCH}'
)


@dataclass(frozen=True, slots=True)
class OpenedLetter:
    """A dead letter in detail."""

    row: Row
    key: str | None
    value: DecodedValue


def letters_of(
    tables: CurrentTables, until: int | None = None, skip: int = 0, listed: int = LISTED, **only: str | None
) -> Slice:
    """Returns a slice of the dead letters of batches up to `until`, newest first, without the first `skip`.

    `only` has required values of columns; None for any value.
    """
    letters, ledger = tables.find(DEAD_LETTERS.name), tables.find(LEDGER.name)
    if letters is None or ledger is None:
        return Slice([], None, None)
    first = _first_batch(letters, until)
    bounds = [f"{c.BATCH} >= {first or 0}", *([f"{c.BATCH} <= {until}"] if until else [])]
    chosen = [*bounds, *(f"{name} = {text_sql(value)}" for name, value in only.items() if value)]
    order = f'{c.BATCH} DESC, partition, "offset" DESC LIMIT {listed + 1} OFFSET {skip}'
    rows = _committed(chosen, order, letters, ledger)
    return page_of(rows, listed, lambda row: int(row[c.BATCH]), until, skip, first and first - 1)


def stored_letters(tables: CurrentTables, summary: LedgerSummary) -> Account:
    """Returns the number of dead letters by reason in the table: without the batches that were removed by age."""
    letters, ledger = tables.find(DEAD_LETTERS.name), tables.find(LEDGER.name)
    removed = letters.transaction_version(REMOVED_APP) if letters is not None else None
    if ledger is None or not removed:
        return summary.account
    (row,) = rows_of(f"SELECT {account_sql(ledger)} FROM ledger WHERE {c.BATCH} > {removed}", ledger=ledger)  # noqa: S608 - ours
    return account_of(row)


def letter_of(
    tables: CurrentTables, schemas: SchemaTexts, batch: int, partition: int, offset: int
) -> OpenedLetter | None:
    """Returns the dead letter of a record; None without a dead letter, or if its batch was never committed."""
    letters, ledger = tables.find(DEAD_LETTERS.name), tables.find(LEDGER.name)
    if letters is None or ledger is None:
        return None
    rows = rows_of(
        f"SELECT {_FIELDS_SQL}, {c.KEY}, {c.VALUE} FROM dead WHERE {c.BATCH} = {batch} AND partition = {partition} "  # noqa: S608 - numbers
        f'AND "offset" = {offset} AND {c.BATCH} IN (SELECT {c.BATCH} FROM ledger WHERE {c.BATCH} = {batch}) LIMIT 1',
        dead=letters,
        ledger=ledger,
    )
    if not rows:
        return None
    row, key = rows[0], rows[0][c.KEY]
    key_text = None if key is None else key.decode(errors="backslashreplace")
    return OpenedLetter(row, key_text, decode_value(row[c.VALUE], schemas))


def sentence(row: Row, zone: tzinfo) -> str:
    """Returns a sentence on why a record is a dead letter, with times in a zone."""
    if row[c.REASON] == Verdict.ERASED:
        return "Its user was erased, and later events of the user are dropped."
    event_time, watermark, taken = row[c.EVENT_TIME], row[c.WATERMARK], row[c.KAFKA_TIMESTAMP]
    if event_time is None or not rules.in_range(event_time):
        return "It is not readable as an event with a time, so it is in no window."
    time = moment_text(event_time, zone)
    if row[c.REASON] == Verdict.FUTURE:
        return f"Its time {time} is too far ahead of its Kafka timestamp {moment_text(taken, zone)}."
    if watermark is None or row[c.REASON] == Verdict.MALFORMED:
        return "It is not a valid event."
    missed = "some of its windows were" if row[c.REASON] == "partly_late" else "all its windows were"
    return (
        f"Its time is {time}, {span_of(watermark - event_time)} before the watermark of its batch, "
        f"{moment_text(watermark, zone)}: {missed} closed."
    )


def _committed(chosen: Sequence[str], order: str, dead: DeltaTable, ledger: DeltaTable) -> list[Row]:
    """Returns the letters that fulfil the SQL conditions `chosen`, without those of uncommitted batches.

    Uncommitted batches are rare: looking up the batches found is cheaper than a join with the ledger.
    """
    uncommitted: set[int] = set()
    while True:
        conditions = [*chosen, *(f"{c.BATCH} <> {batch}" for batch in uncommitted)]
        rows = rows_of(f"SELECT {_FIELDS_SQL} FROM dead WHERE {' AND '.join(conditions)} ORDER BY {order}", dead=dead)  # noqa: S608 - quoted
        if not rows:
            return rows
        batches = {row[c.BATCH] for row in rows}
        among = f"{c.BATCH} IN ({', '.join(map(str, batches))})"
        committed = rows_of(f"SELECT DISTINCT {c.BATCH} FROM ledger WHERE {among}", ledger=ledger)  # noqa: S608 - numbers
        missing = batches - {row[c.BATCH] for row in committed}
        if not missing:
            return rows
        uncommitted |= missing


def _first_batch(table: DeltaTable, until: int | None) -> int | None:
    """Returns the first batch to search, from statistics of the files; None to search all."""
    files = pa.table(table.get_add_actions(flatten=True))
    if f"min.{c.BATCH}" not in files.column_names:
        return None
    if until is not None:
        files = files.filter(pc.less_equal(files[f"min.{c.BATCH}"], until))
    rows = 0
    for file in files.sort_by([(f"max.{c.BATCH}", "descending")]).to_pylist():
        rows += file["num_records"]
        if rows > _SEARCHED:
            return int(file[f"min.{c.BATCH}"])
    return None
