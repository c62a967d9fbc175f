"""One of the two warehouses that are compared, as of one version of each table. Times are milliseconds since 1970."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from deltalake import DeltaTable

from tidemark.pipeline.errors import NothingFound
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.reading.ledger_summary import LedgerSummary, read_summary
from tidemark.pipeline.reading.periods.table_progress import TableProgress, progress_in
from tidemark.pipeline.reading.table_handles import TableHandles
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.results.layout import stored_reports
from tidemark.pipeline.tables.ledger import Ledger, require_warehouse
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, ERASURES, LEDGER, PANES, USER_TOTALS
from tidemark.pipeline.tables.transactions import REMOVED_APP, version_of

SideName = Literal["warehouse", "other"]
NAMES: Final[tuple[SideName, SideName]] = ("warehouse", "other")
"""The names of the two sides in SQL and in every output, in the order of the arguments."""
_READ_SQL: Final = """
SELECT "partition", min(from_offset) AS first, max(to_offset) AS last FROM ledger
WHERE to_offset > from_offset GROUP BY "partition"
"""
_REMOVED_SQL: Final = (
    'SELECT "partition", max(to_offset) AS last FROM ledger WHERE batch <= {batch} GROUP BY "partition"'
)
_NEWEST_SQL: Final = """
SELECT max(max_event_time) AS newest FROM ledger
WHERE "partition" = {partition} AND to_offset > from_offset AND from_offset < {before}
"""


@dataclass(frozen=True, slots=True)
class Side:
    """The tables, the settings and the offsets of a warehouse."""

    name: SideName
    warehouse: str
    tables: Mapping[str, DeltaTable]
    """The tables that exist, by name."""
    progress: TableProgress
    openings: Mapping[int, Opening]
    """By epoch."""
    reports: Mapping[str, Report]
    """The reports of the newest epoch that have a table, as the tables define them."""
    read: Mapping[int, tuple[int, int]]
    """The offsets that were read of each partition, from the first and before the last."""
    letters_from: Mapping[int, int]
    """By partition, the first offset whose dead letters were not removed by age, if some were."""

    @property
    def opening(self) -> Opening:
        """The newest opening."""
        return self.openings[max(self.openings)]

    @property
    def by_arrival(self) -> bool:
        """Whether every record was judged by arrival, so that no verdict depends on where a batch was cut."""
        return all(opening.policy.by_arrival for opening in self.openings.values())

    @property
    def summary(self) -> LedgerSummary:
        """The ledger as of the newest batch."""
        return self.progress.summary

    def newest_before(self, partition: int, offset: int) -> int | None:
        """Returns the highest time of an event in the batches that read offsets before `offset`; None if unknown."""
        sql = _NEWEST_SQL.format(partition=partition, before=offset)
        newest: int | None = rows_of(sql, ledger=self.tables[LEDGER.name])[0]["newest"]
        return newest


def read_side(name: SideName, warehouse: str) -> Side:
    """Opens the tables of a warehouse, the ledger first, because rows of later batches are uncommitted.

    Raises SetUpError if there is no warehouse, and NothingFound before the first batch.
    """
    require_warehouse(warehouse)
    handles = TableHandles(warehouse)
    ledger = handles.find(LEDGER.name)
    summary = None if ledger is None else read_summary(ledger, None)
    if ledger is None or summary is None:
        raise NothingFound(f"no batch was committed yet to {warehouse}: `tidemark status` says what is missing")
    openings = Ledger(warehouse, mends=False).openings()
    names = [report.name for report in summary.policy.reports]
    # Panes before results, because panes that are compacted later are published; corrections last, because results may
    # contain them.
    wanted = (LEDGER.name, PANES.name, DEAD_LETTERS.name, *names, USER_TOTALS.name, CORRECTIONS.name, ERASURES.name)
    tables = {each: table for each in wanted if (table := handles.find(each)) is not None}
    progress = progress_in(CurrentTables(warehouse, handles), summary)
    return Side(
        name=name,
        warehouse=warehouse,
        tables=tables,
        progress=progress,
        openings={epoch: opening for epoch, opening in openings.items() if epoch <= progress.summary.epoch},
        reports={report.name: report for report in stored_reports(names, warehouse)},
        read={row["partition"]: (row["first"], row["last"]) for row in rows_of(_READ_SQL, ledger=ledger)},
        letters_from=dict(_letters_from(tables)),
    )


def _letters_from(tables: Mapping[str, DeltaTable]) -> Iterator[tuple[int, int]]:
    letters = tables.get(DEAD_LETTERS.name)
    batch = 0 if letters is None else version_of(letters, REMOVED_APP)
    if batch:
        for row in rows_of(_REMOVED_SQL.format(batch=batch), ledger=tables[LEDGER.name]):
            yield row["partition"], row["last"]
