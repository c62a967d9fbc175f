"""The table `event_ids`: which events were counted, for as long as one of them might come again."""

from typing import Final

from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time.event_ids import Ids, RememberedIds
from pipeline.tables.file_statistics import lowest
from pipeline.tables.handle import Handle
from pipeline.tables.merging import merge_small_files
from pipeline.tables.query import query
from pipeline.tables.schemas import EVENT_IDS, is_table

_FILE_BYTES: Final = 64 * 1024 * 1024
_MANY_FILES: Final = 64
_IDS: Final = "SELECT id_high, id_low, event_time FROM event_ids"


def remembered(warehouse: str) -> RememberedIds:
    """All that the table has, which must be free of what is void and forgotten."""
    found = query(_IDS, event_ids=DeltaTable(EVENT_IDS.uri(warehouse)))
    return RememberedIds.of(Ids(*(found[name].to_numpy() for name in (c.ID_HIGH, c.ID_LOW, c.EVENT_TIME))))


def forget(warehouse: str, since: int, number: int) -> None:
    """Removes ids of events from before `since`, in milliseconds, for the start that batch `number` opens.

    Raises Replaced if a newer service has begun.
    """
    if is_table(uri := EVENT_IDS.uri(warehouse)):
        handle = Handle(uri)
        while _has_older(handle.table, since) and not handle.remove(f"{c.EVENT_TIME} < {since}", by=number):
            pass


def tend(warehouse: str, since: int, batch: int) -> None:
    """Removes ids of events from before `since`, in milliseconds, and merges small files, while batches go on.

    What meets another commit is put off to the next time. Raises Replaced if a newer service has begun.
    """
    handle = Handle(EVENT_IDS.uri(warehouse))
    if _has_older(handle.table, since):
        handle.remove(f"{c.EVENT_TIME} < {since}", by=batch)
    merge_small_files(handle, _FILE_BYTES, _MANY_FILES, by=batch)


def _has_older(table: DeltaTable, since: int) -> bool:
    first = lowest(table, c.EVENT_TIME)
    return first is not None and bool(first < since)
