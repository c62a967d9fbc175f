"""Informs the running service of erased users whose later events are dropped."""

import time

import structlog
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tidemark.pipeline.fold.erased_records import ErasedRecords
from tidemark.pipeline.tables.erased_users import LOOKS_EVERY_S, erased_users
from tidemark.pipeline.tables.schemas import ERASED_USERS, find_table

_log = structlog.get_logger()


class ErasureNotice:
    """Reads the table of erased users between batches, at most every `LOOKS_EVERY_S` seconds."""

    def __init__(self, warehouse: str, spark: SparkSession) -> None:
        self._warehouse = warehouse
        self._spark = spark
        self._table: DeltaTable | None = None
        self._version: int | None = None
        self._read_at: float | None = None
        self._erased: ErasedRecords | None = None

    def refresh(self) -> ErasedRecords | None:
        """Returns the erased users for a fold, the same object until the table changes; None without users."""
        now = time.monotonic()
        if self._read_at is None or now - self._read_at >= LOOKS_EVERY_S:
            self._read()
            self._read_at = now
        return self._erased

    def _read(self) -> None:
        if self._table is None:
            self._table = find_table(ERASED_USERS.name, self._warehouse)
        else:
            self._table.update_incremental()
        if self._table is None or self._table.version() == self._version:
            return
        users = erased_users(self._table)
        self._version = self._table.version()
        self._erased = ErasedRecords(self._spark, users) if users else None
        _log.info("erased_users_loaded", users=len(users.hashes) if users else 0)
