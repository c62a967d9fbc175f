"""The tables: names, types of columns and Delta properties, each written once."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from pipeline import columns as c
from pipeline.errors import Unreachable
from pipeline.event_time.policy import Policy
from pipeline.event_time.reports import Report
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.windows.grid import Grid
from pipeline.measures import MEASURES, PARTS, Display
from pipeline.tables import dictionary
from pipeline.tables.dictionary import COMMENT, About
from pipeline.tables.store_errors import one_line

# Applications of the tables' transactions: each is recorded in the same commit as what it is about.
WRITER_APP: Final = "tidemark"
"""On a table that is written ahead: the batch that opened the epoch. On a result table: the batch last published."""
FENCED_APP: Final = "tidemark-fenced"
"""On a result table: the batch that opened the epoch whose service alone may publish."""
CLOSED_APP: Final = "tidemark-closed"
"""On a result table: windows that end no later than this version, in milliseconds, are closed and final."""
CORRECTED_APP: Final = "tidemark-corrections"
"""On a result table: the last correction that it has. On `corrections`: the last that was ever decided."""
AMENDED_APP: Final = "tidemark-amended"
"""On a result table, counted up by each correction, erasure, removal by age and fence: these exclude one another."""
ERASED_APP: Final = "tidemark-erased"
"""On a result table, counted up by each erasure."""
FILLED_APP: Final = "tidemark-filled"
"""On `user_totals`: the batch up to which panes are in its rows. An empty publication does not move it."""

COMPACTION_APP: Final = "tidemark-compaction"
"""On `panes`: the batch up to which panes were last merged, or removed because their windows are final."""
MERGED_APP: Final = "tidemark-merged:"
"""On `panes`, before the name of a report: windows that end no later, in milliseconds, may lack some of their panes."""
ERASED_EVENTS_APP: Final = "tidemark-erased-events:"
"""On `panes`, before the name of a report: so many counted events were erased from it, in all."""
ERASING_APP: Final = "tidemark-erasing"
"""On `panes`: a hash of who is being erased; 0 when that is done."""

VERSIONS_KEPT: Final = ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration")
"""Properties that say how long earlier versions of a table can be read."""
LOG_CLEANUP: Final = "delta.enableExpiredLogCleanup"
"""Whether each commit removes what is old in the log, for which it looks at every entry."""
STATISTICS: Final = "delta.dataSkippingStatsColumns"
"""Of which columns the log tells the lowest and the highest value of each file."""
_PROPERTIES: Final = {
    # The default of 10 costs about a second every ten batches.
    "delta.checkpointInterval": "100",
    LOG_CLEANUP: "false",  # upkeep does it
    **dict.fromkeys(VERSIONS_KEPT, "interval 1 days"),
}
# Every commit lists the log, where the store cannot begin in the midst: a day of a commit a second would cost it 0.3 s.
_OF_EACH_BATCH: Final = {
    "delta.logRetentionDuration": "interval 30 minutes",
    "delta.deletedFileRetentionDuration": "interval 1 hours",
}


@dataclass(frozen=True, slots=True)
class TableSpec:
    """Name under the warehouse, Arrow schema with its comments, and Delta properties of a table."""

    name: str
    schema: pa.Schema
    about: About
    properties: dict[str, str] = field(default_factory=lambda: dict(_PROPERTIES))
    partition_by: tuple[str, ...] = ()

    def uri(self, warehouse: str) -> str:
        """Where the table lives."""
        return _uri(self.name, warehouse)


def _uri(name: str, warehouse: str) -> str:
    return f"{warehouse.rstrip('/')}/{name}"


_MOMENT: Final = pa.timestamp("us", tz="UTC")
_SHOWN: Final = {
    Display.NUMBER: pa.int64(),
    Display.ESTIMATE: pa.int64(),
    Display.MOMENT: _MOMENT,
    Display.TEXT_AFTER_TIME: pa.string(),
}
_TEXTS: Final = (c.REASON, c.DETAIL, c.TOPIC, c.REPORT, c.USER_ID, c.PAGE_URL, c.EVENT_TYPE)
_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys((*_TEXTS, "opening", "avro", "table", "user_hash", "salt"), pa.string()),
    **dict.fromkeys((c.KEY, c.VALUE), pa.binary()),
    **dict.fromkeys((c.WINDOW_START, c.WINDOW_END), _MOMENT),
    c.PARTITION: pa.int32(),
    "slack": pa.list_(pa.struct({"slack_ms": pa.int64(), c.RECORDS: pa.int64()})),
    **{part.name: pa.type_for_alias(part.type) for part in PARTS},
    **{one.name: _SHOWN[one.display] for one in MEASURES.values()},
    **{one.state: pa.type_for_alias(one.part.type) for one in MEASURES.values() if one.state},
}
"""Of columns, by their names, in every table; all others are whole numbers of 64 bits."""


def _table(name: str, about: About, *partition_by: str, **properties: str) -> TableSpec:
    told = {**_PROPERTIES, **_statistics(about.columns), **properties}
    columns = about.columns.items()
    fields = [pa.field(one, _TYPES.get(one, pa.int64()), metadata={COMMENT: comment}) for one, comment in columns]
    return TableSpec(name, pa.schema(fields), about, told, partition_by)


def _statistics(columns: Collection[str]) -> dict[str, str]:
    """None of a column that names persons: a log keeps them longer than the rows."""
    if c.USER_ID not in columns:
        return {}
    told = [name for name in columns if name not in (c.USER_ID, c.KEY, c.VALUE, c.USERS_SKETCH, c.BUCKET)]
    return {STATISTICS: ",".join(told)}


LEDGER: Final = _table("ledger", dictionary.LEDGER, **_OF_EACH_BATCH)
PANES: Final = _table(
    "panes",
    dictionary.PANES,
    c.REPORT,  # by which it is in parts: each is read, merged and dropped by itself
    # Publication looks panes up by batch and time: statistics of further columns would only cost.
    **{**_OF_EACH_BATCH, STATISTICS: f"{c.BATCH},{c.PANE_START}"},
)
DEAD_LETTERS: Final = _table("dead_letters", dictionary.DEAD_LETTERS, **_OF_EACH_BATCH)
EVENT_SCHEMAS: Final = _table("event_schemas", dictionary.EVENT_SCHEMAS)
EVENT_IDS: Final = _table("event_ids", dictionary.EVENT_IDS, **_OF_EACH_BATCH)
CORRECTIONS: Final = _table("corrections", dictionary.CORRECTIONS)
ERASURES: Final = _table("erasures", dictionary.ERASURES)
# The log of `erased_users` must not tell of whom it was who is taken out again.
ERASED_USERS: Final = _table("erased_users", dictionary.ERASED_USERS, **{STATISTICS: "since"})


def result_of(report: Report) -> TableSpec:
    """The result table of a report: one row for each window and key."""
    return _table(report.name, dictionary.of_result(report))


PAGE_VIEWS: Final = result_of(Report("page_views", Grid(1, 1), 0))
USER_TOTALS: Final = _table(UserTotals.name, dictionary.USER_TOTALS, c.BUCKET)
"""One row for each user; a bucket is rewritten by itself."""
OWN: Final = (DEAD_LETTERS, LEDGER, CORRECTIONS, PANES, EVENT_IDS, EVENT_SCHEMAS, ERASURES, ERASED_USERS)
"""Every table that is no result."""


def results_of(policy: Policy) -> list[TableSpec]:
    """The result tables of everything that panes are kept for."""
    return [*map(result_of, policy.reports), *([USER_TOTALS] if policy.totals else [])]


def is_table(uri: str) -> bool:
    """Whether there is a Delta table. Raises Unreachable where the store does not say."""
    with _answering(uri):
        return DeltaTable.is_deltatable(uri)


def find_table(name: str, warehouse: str) -> DeltaTable | None:
    """The table of a name; None where there is none. Raises Unreachable where the store does not say."""
    with _answering(uri := _uri(name, warehouse)), suppress(TableNotFoundError):
        return DeltaTable(uri)
    return None


@contextmanager
def _answering(uri: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError) as error:
        raise Unreachable(
            f"the store of {uri} does not answer: {one_line(error)}. See to it, or correct warehouse"
        ) from error
