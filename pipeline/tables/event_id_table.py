"""The table `event_ids`: the counted events, for as long as they may come again."""

from typing import Final

from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.tables.file_statistics import lowest
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.merging import merge_small_files
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import EVENT_IDS, is_table
from tidemark.pipeline.tables.transactions import FORGOTTEN_APP, FORGOTTEN_BEFORE_APP, version_of
from tidemark.pipeline.tuning import STANDARD

_FILE_BYTES: Final = 64 * 1024 * 1024
_IDS_SQL: Final = "SELECT id_high, id_low, event_time FROM event_ids"


def remembered(warehouse: str) -> RememberedIds:
    """Returns the ids of the table, which must have no uncommitted rows and no ids to forget."""
    rows = query(_IDS_SQL, event_ids=DeltaTable(EVENT_IDS.uri(warehouse)))
    return RememberedIds.of(Ids(*(rows[name].to_numpy() for name in (c.ID_HIGH, c.ID_LOW, c.EVENT_TIME))))


def forget(warehouse: str, since: int, batch: int) -> None:
    """Removes the ids of events older than `since`, in milliseconds; `batch` opens the epoch.

    Raises Replaced if a newer epoch has fenced the table.
    """
    if is_table(uri := EVENT_IDS.uri(warehouse)):
        handle = Handle(uri)
        # After an epoch without deduplication nothing is left to protect.
        marks = [] if since == rules.NEVER else [_forgotten_before(handle.table, since)]
        where = f"{c.EVENT_TIME} < {since}"
        while _has_older(handle.table, since) and not handle.remove(where, by=batch, transactions=marks):
            pass


def maintain(warehouse: str, since: int, batch: int, many_files: int = STANDARD.small_files) -> None:
    """Removes ids of events from before `since`, in ms, and merges `many_files` small files, while batches continue.

    Losing the race to another commit is fine: the next run does it. Raises Replaced if a newer epoch has fenced the
    table.
    """
    handle = Handle(EVENT_IDS.uri(warehouse))
    if _has_older(handle.table, since):
        forgotten = [Transaction(FORGOTTEN_APP, batch), _forgotten_before(handle.table, since)]
        handle.remove(f"{c.EVENT_TIME} < {since}", by=batch, transactions=forgotten)
    merge_small_files(handle, _FILE_BYTES, many_files, by=batch)


def _forgotten_before(table: DeltaTable, since: int) -> Transaction:
    return Transaction(FORGOTTEN_BEFORE_APP, max(since, version_of(table, FORGOTTEN_BEFORE_APP)))


def _has_older(table: DeltaTable, since: int) -> bool:
    first = lowest(table, c.EVENT_TIME)
    return first is not None and bool(first < since)
