"""Fences: commits by which an epoch takes over a table, so that older processes can no longer write to it."""

from deltalake import DeltaTable

from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables.transactions import FENCED_APP, WRITER_APP


def refuse_if_fenced(table: DeltaTable, batch: int) -> None:
    """Raises Replaced if an epoch newer than that of `batch` has fenced the table, as of the handle's version."""
    newest = max(table.transaction_version(app) or 0 for app in (WRITER_APP, FENCED_APP)) // EPOCH
    if newest > batch // EPOCH:
        raise replaced(newest, batch // EPOCH)


def replaced(newest_epoch: int, own_epoch: int) -> Replaced:
    """Returns the error of a service that finds a newer epoch in the tables."""
    return Replaced(
        f"another service has opened epoch {newest_epoch} on this warehouse; this service was epoch {own_epoch} and "
        "stops. Run one service per warehouse"
    )
