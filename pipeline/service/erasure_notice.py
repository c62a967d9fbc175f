"""Whose later events are dropped, as the running service takes notice of it."""

import time

import structlog
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipeline.fold.erased_records import ErasedRecords
from pipeline.tables.erased_users import LOOKS_EVERY_S, erased_users
from pipeline.tables.schemas import ERASED_USERS, find_table

_log = structlog.get_logger()


class ErasureNotice:
    """Looks into the table between batches, now and then."""

    def __init__(self, warehouse: str, spark: SparkSession) -> None:
        self._warehouse = warehouse
        self._spark = spark
        self._table: DeltaTable | None = None
        self._version: int | None = None
        self._looked_at: float | None = None
        self._erased: ErasedRecords | None = None

    def refresh(self) -> ErasedRecords | None:
        """What a fold needs to tell them, the same as long as they are; None where there is nobody."""
        now = time.monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOKS_EVERY_S:
            self._look()
            self._looked_at = now
        return self._erased

    def _look(self) -> None:
        if self._table is None:
            self._table = find_table(ERASED_USERS.name, self._warehouse)
        else:
            self._table.update_incremental()
        if self._table is None or self._table.version() == self._version:
            return
        users = erased_users(self._table)
        self._version = self._table.version()
        self._erased = ErasedRecords(self._spark, users) if users else None
        _log.info("erased users are those of the table", users=len(users.hashes) if users else 0)
