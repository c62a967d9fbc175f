"""Sizes at which the service changes how it works, never what it writes. No user sets them; tests pass small ones."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tuning:
    """One value for a whole service; it is part of what the service is constructed from."""

    upkeep_batches: int = 100
    """Upkeep runs after the first batch of a service, and then at this interval."""
    merged_runs: int = 64
    """This many runs of the lowest level of `panes` are merged."""
    chunk_rows: int = 1_000_000
    """A result with more rows is committed before further rows are made."""
    statement_rows: int = 1_000_000
    """A statement reads about this many rows of `panes`; further rows are read by further statements."""
    statement_panes: int = 4096
    """A statement lists at most this many panes: listing those of a backlog of long windows took seconds."""
    bucket_rows: int = 32_768
    """A bucket of `user_totals` with more rows is split."""
    small_files: int = 64
    """This many small files of a table without partitions are merged."""
    ledger_files: int = 50
    """This many small files of the ledger are merged: each costs every commit a tenth of a millisecond of CPU, and a
    merge costs as much as three commits."""
    chunk_bytes: int = 32 * 1024 * 1024
    """Roughly the most that the driver writes at once of a fold; rows of tables are several times larger."""
    large_batch_records: int = 200_000
    """The smallest batch for which it pays to guess whether many of its records will be rejected."""


STANDARD: Final = Tuning()
"""The tuning of every service."""
