"""Fences: commits by which an epoch takes over a table, so that older processes can no longer write to it."""

from deltalake import DeltaTable

from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables.transactions import FENCED_APP, FENCED_BY_0_1_0_APP, version_of


def fenced_epoch(table: DeltaTable | None) -> int:
    """Returns the newest epoch that has fenced a table, as of the handle's version; 0 without a fence.

    A result table has its last published batch under the name that the fence of other tables had in version 0.1.0: it
    is never of a newer epoch than the fence.
    """
    return max(version_of(table, app) for app in (FENCED_BY_0_1_0_APP, FENCED_APP)) // EPOCH


def refuse_if_fenced(table: DeltaTable, batch: int) -> None:
    """Raises Replaced if an epoch newer than that of `batch` has fenced the table, as of the handle's version."""
    if (newest := fenced_epoch(table)) > batch // EPOCH:
        raise replaced(newest, batch // EPOCH)


def replaced(newest_epoch: int, own_epoch: int) -> Replaced:
    """Returns the error of a service that finds a newer epoch in the tables."""
    return Replaced(
        f"another service has opened epoch {newest_epoch} on this warehouse; this service was epoch {own_epoch} and "
        "stops. Run one service per warehouse"
    )
