"""The table `event_ids`: which events were counted, for as long as one of them might come again."""

from functools import partial
from typing import Final

from deltalake import DeltaTable, Transaction

from pipeline import columns as c
from pipeline.event_time.event_ids import Ids, Remembered
from pipeline.tables.query import query
from pipeline.tables.schemas import COMPACTION_APP, EVENT_IDS, find_table
from pipeline.tables.statistics import lowest, smaller_files
from pipeline.tables.swap import attempt, insist
from pipeline.tables.write import refuse_if_fenced

_RETRIES: Final = 5
_FILE_BYTES: Final = 64 * 1024 * 1024
_MANY_FILES: Final = 64
_IDS: Final = "SELECT id_high, id_low, event_time FROM event_ids"


def remembered(warehouse: str) -> Remembered:
    """All that the table has, which must be free of what is void and forgotten."""
    found = query(_IDS, event_ids=DeltaTable(EVENT_IDS.uri(warehouse)))
    return Remembered.of(Ids(*(found[name].to_numpy() for name in (c.ID_HIGH, c.ID_LOW, c.EVENT_TIME))))


def forget(warehouse: str, since: int, number: int) -> None:
    """Removes ids of events from before a time in milliseconds, where there are any: for starts, by their number."""
    table = find_table(EVENT_IDS.name, warehouse)
    if table is None or not _has_older(table, since):
        return
    refuse_if_fenced(table, number)
    insist(table, partial(table.delete, f"{c.EVENT_TIME} < {since}"))


def tend(warehouse: str, since: int, batch: int) -> None:
    """The same beside the appends of later batches, and small files become large ones; what meets another is put off.

    Raises Replaced if a newer service has begun.
    """
    table = DeltaTable(EVENT_IDS.uri(warehouse))
    refuse_if_fenced(table, batch)
    done = [Transaction(COMPACTION_APP, batch)]
    if _has_older(table, since):
        attempt(table, partial(table.delete, f"{c.EVENT_TIME} < {since}"), done, retries=_RETRIES)
    if smaller_files(table, _FILE_BYTES) >= _MANY_FILES:
        attempt(table, partial(table.optimize.compact, target_size=_FILE_BYTES), done, retries=_RETRIES)


def _has_older(table: DeltaTable, since: int) -> bool:
    first = lowest(table, c.EVENT_TIME)
    return first is not None and bool(first < since)
