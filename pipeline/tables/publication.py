"""Publication: `page_views` of the windows that are due becomes what their committed panes add up to.

Panes are small, so they are added up where they are committed, by delta-rs and its query engine: thirty times less work
than a Spark job and a commit of Spark's for each batch.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, Transaction

from pipeline.frames import columns as c
from pipeline.tables.ledger import EPOCH, replaced
from pipeline.tables.schemas import PAGE_VIEWS, PANES, WRITER_APP
from pipeline.tables.swap import swap
from pipeline.time.verdicts import Policy
from pipeline.time.windows import Due

_SQL: Final = """
SELECT
  to_timestamp_micros((window_end - {size_ms}) * 1000) AS window_start,
  to_timestamp_micros(window_end * 1000) AS window_end,
  user_id,
  sum(page_views) AS page_views,
  sum(clicks) AS clicks,
  sum(CASE WHEN watermark >= window_end THEN page_views + clicks ELSE 0 END) AS late_events,
  max(greatest(batch, fired_by)) AS published_batch
FROM panes
JOIN (VALUES {due}) AS due (pane, window_end, fired_by)
  ON pane_start = pane AND watermark < window_end + {allowed_lateness_ms}
JOIN (VALUES {lives}) AS lives (epoch, last) ON batch / {epoch} = epoch AND batch <= last
WHERE pane_start BETWEEN {first} AND {last}
GROUP BY window_end, user_id
"""


class Publication:
    """One writer's view of `page_views`; its handle moves only with its own commits until it is refused."""

    def __init__(self, warehouse: str, policy: Policy) -> None:
        self._table = DeltaTable(PAGE_VIEWS.uri(warehouse))
        self._panes = DeltaTable(PANES.uri(warehouse))
        self._grid = policy.grid
        self._allowed_lateness_ms = policy.allowed_lateness_ms

    def publish(self, due: Due, last_batches: Mapping[int, int], batch: int) -> None:
        """Publishes the windows in `due` in one commit, a pure function of committed panes: doing it twice is harmless.

        `last_batches` maps each epoch to its last committed batch: panes of a later one are void. `batch` becomes the
        transaction version, by which a start knows how far publication came. Windows that fire for the first time are
        appended, with any other among them all are replaced. Raises Replaced if a newer service has published.
        """
        self._panes.update_incremental()
        rows = pa.table(QueryBuilder().register(PANES.name, self._panes).execute(self._sql(due, last_batches)))
        self._commit(rows.cast(PAGE_VIEWS.schema), _where(due) if due.again else None, batch)

    def fence(self, batch: int) -> None:
        """An empty publication, after which older processes can publish no more. Raises Replaced likewise."""
        self._commit(PAGE_VIEWS.schema.empty_table(), None, batch)

    def _commit(self, rows: pa.Table, where: str | None, batch: int) -> None:
        while not swap(self._table, rows, where, Transaction(WRITER_APP, batch)):
            # Somebody took the version: a newer service, or mere maintenance.
            newest = (self._table.transaction_version(WRITER_APP) or 0) // EPOCH
            if newest > batch // EPOCH:
                raise replaced(newest, batch // EPOCH)

    def _sql(self, due: Due, last_batches: Mapping[int, int]) -> str:
        panes = [(pane, end, due.fired_by[end]) for end in due.fired | due.again for pane in self._grid.panes(end)]
        return _SQL.format(
            due=_values(panes),
            lives=_values(last_batches.items()),
            epoch=EPOCH,
            size_ms=self._grid.size_ms,
            allowed_lateness_ms=self._allowed_lateness_ms,
            first=min(panes)[0],
            last=max(panes)[0],
        )


def last_published(warehouse: str) -> int | None:
    """The batch up to which `page_views` is published, none in a new warehouse."""
    return DeltaTable(PAGE_VIEWS.uri(warehouse)).transaction_version(WRITER_APP)


def _values(rows: Iterable[tuple[int, ...]]) -> str:
    return ", ".join(f"({', '.join(map(str, row))})" for row in rows)


def _where(due: Due) -> str:
    ends = ", ".join(f"'{_utc(end)}'" for end in sorted(due.fired | due.again))
    return f"{c.WINDOW_END} IN ({ends})"


def _utc(milliseconds: int) -> str:
    # Text, because delta-rs takes no number for a timestamp in UTC.
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
