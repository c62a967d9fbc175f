"""The tables: names, types of columns and Delta properties, each written once."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from tidemark.pipeline import columns as c
from tidemark.pipeline.errors import Unreachable
from tidemark.pipeline.event_time.dimensions import STORED
from tidemark.pipeline.event_time.field_measures import SKETCHES, TEXTS
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import MEASURES, PARTS, Display, Measure
from tidemark.pipeline.tables import dictionary
from tidemark.pipeline.tables.dictionary import COMMENT, About
from tidemark.pipeline.tables.store_errors import one_line

VERSIONS_KEPT: Final = ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration")
"""Properties: how long earlier versions of a table can be read."""
LOG_CLEANUP: Final = "delta.enableExpiredLogCleanup"
"""Property: whether each commit removes old log entries, for which it lists all of them."""
STATISTICS: Final = "delta.dataSkippingStatsColumns"
"""Property: the columns for which the log has the lowest and highest value of each file."""
_PROPERTIES: Final = {
    # The default of 10 costs about a second every ten batches.
    "delta.checkpointInterval": "100",
    LOG_CLEANUP: "false",  # maintenance does it
    **dict.fromkeys(VERSIONS_KEPT, "interval 1 days"),
}
# Every commit lists the log, from its start if the store cannot list from an entry on: for a day of commits every
# second that would take 0.3 s.
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
        """Returns the URI of the table in a warehouse."""
        return _uri(self.name, warehouse)


def _uri(name: str, warehouse: str) -> str:
    return f"{warehouse.rstrip('/')}/{name}"


_MOMENT: Final = pa.timestamp("us", tz="UTC")
_TYPES_OF_MEASURES: Final = {
    Display.NUMBER: pa.int64(),
    Display.ESTIMATE: pa.int64(),
    Display.MOMENT: _MOMENT,
    Display.TEXT_AFTER_TIME: pa.string(),
    Display.EXACT: pa.int64(),
    Display.ELAPSED: pa.int64(),
    Display.SINGLE_VIEW: pa.int64(),
    Display.AVERAGE: pa.float64(),
    Display.QUANTILE: pa.int64(),
    Display.LIST: pa.list_(pa.string()),
    Display.LEFT_OUT: pa.int64(),
}
_TEXT_COLUMNS: Final = (c.REASON, c.DETAIL, c.TOPIC, c.REPORT, c.USER_ID, c.PAGE_URL, c.EVENT_TYPE, *STORED, *TEXTS)


def _types_of(measure: Measure) -> dict[str, pa.DataType]:
    """Returns the types of a measure's columns in results."""
    is_decimal = measure.display in (Display.EXACT, Display.QUANTILE) and measure.digits
    kind = pa.decimal128(38, measure.digits) if is_decimal else _TYPES_OF_MEASURES[measure.display]
    states = {name: pa.type_for_alias(part.type) for name, part in measure.stored.items()}
    return {**states, measure.name: kind}


_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys((*_TEXT_COLUMNS, "opening", "schema_id", "avro", "table", "user_hash", "salt"), pa.string()),
    **dict.fromkeys((c.KEY, c.VALUE, *SKETCHES), pa.binary()),
    **dict.fromkeys((c.WINDOW_START, c.WINDOW_END), _MOMENT),
    c.PARTITION: pa.int32(),
    "slack": pa.list_(pa.struct({"slack_ms": pa.int64(), c.RECORDS: pa.int64()})),
    **{part.name: pa.type_for_alias(part.type) for part in PARTS},
    **{name: kind for measure in MEASURES.values() for name, kind in _types_of(measure).items()},
}
"""The types of columns by name, in every table; all others are 64-bit integers."""


def _table(name: str, about: About, *partition_by: str, **properties: str) -> TableSpec:
    settings = {**_PROPERTIES, **_statistics(about.columns), **properties}
    return TableSpec(name, _schema(about, _TYPES), about, settings, partition_by)


def _schema(about: About, types: Mapping[str, pa.DataType]) -> pa.Schema:
    columns = about.columns.items()
    return pa.schema(
        [pa.field(column, types.get(column, pa.int64()), metadata={COMMENT: comment}) for column, comment in columns]
    )


def _statistics(columns: Collection[str], personal: Collection[str] = ()) -> dict[str, str]:
    """Returns the property that excludes columns with user ids: a log outlives the rows of its table.

    Columns in `personal` have ids of people, too.
    """
    if c.USER_ID not in columns and not personal:
        return {}
    hidden = (*personal, c.USER_ID, c.KEY, c.VALUE, c.BUCKET, *STORED, *TEXTS, *SKETCHES)
    names = [name for name in columns if name not in hidden and not name.endswith("_sketch")]
    return {STATISTICS: ",".join(names)}


LEDGER: Final = _table("ledger", dictionary.LEDGER, **_OF_EACH_BATCH)
PANES: Final = _table(
    "panes",
    dictionary.PANES,
    c.REPORT,  # each partition is read, merged and removed by itself
    # Publication selects panes by batch and time: it needs no other statistics.
    **{**_OF_EACH_BATCH, STATISTICS: f"{c.BATCH},{c.PANE_START}"},
)
DEAD_LETTERS: Final = _table("dead_letters", dictionary.DEAD_LETTERS, **_OF_EACH_BATCH)
EVENT_SCHEMAS: Final = _table("event_schemas", dictionary.EVENT_SCHEMAS)
EVENT_IDS: Final = _table("event_ids", dictionary.EVENT_IDS, **_OF_EACH_BATCH)
CORRECTIONS: Final = _table("corrections", dictionary.CORRECTIONS)
ERASURES: Final = _table("erasures", dictionary.ERASURES)
# The log of `erased_users` must not contain users who were removed again.
ERASED_USERS: Final = _table("erased_users", dictionary.ERASED_USERS, **{STATISTICS: "since"})


def result_of(report: Report) -> TableSpec:
    """Returns the result table of a report: one row for each window and key."""
    types = {dimension.name: dimension.type.arrow for dimension in report.dimensions}
    types |= {name: kind for measure in report.chosen_measures for name, kind in _types_of(measure).items()}
    personal = [dimension.name for dimension in report.dimensions if dimension.personal]
    spec = _table(report.name, dictionary.about_result(report))
    statistics = _statistics(spec.about.columns, personal)
    return replace(spec, schema=_schema(spec.about, {**_TYPES, **types}), properties=spec.properties | statistics)


PAGE_VIEWS: Final = result_of(Report("page_views", Grid(1, 1), 0))
USER_TOTALS: Final = _table(UserTotals.name, dictionary.USER_TOTALS, c.BUCKET)
"""One row for each user; each bucket is a partition and is rewritten by itself."""
OWN: Final = (DEAD_LETTERS, LEDGER, CORRECTIONS, PANES, EVENT_IDS, EVENT_SCHEMAS, ERASURES, ERASED_USERS)
"""Every table that is not a result."""


def results_of(policy: Policy) -> list[TableSpec]:
    """Returns the result tables of a policy: its reports and the totals."""
    return [*map(result_of, policy.reports), *([USER_TOTALS] if policy.totals else [])]


def is_table(uri: str) -> bool:
    """Returns whether a Delta table exists. Raises Unreachable if the store does not respond."""
    with _answering(uri):
        return DeltaTable.is_deltatable(uri)


def find_table(name: str, warehouse: str, version: int | None = None) -> DeltaTable | None:
    """Returns the newest or the given version of a table, None if it does not exist.

    Raises Unreachable if the store does not respond.
    """
    with _answering(uri := _uri(name, warehouse)), suppress(TableNotFoundError):
        return DeltaTable(uri, version=version)
    return None


@contextmanager
def _answering(uri: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError) as error:
        reason = one_line(error)
        advice = "Set its credentials" if "credentials" in reason else "Check it"
        raise Unreachable(f"the store of {uri} does not answer: {reason}. {advice}, or correct warehouse") from error
