"""Decides which windows are final: only these can be corrected."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Self, assert_never

import pyarrow.compute as pc
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.policy import Consumer, Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.count import CountWindows
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.instants import utc_sql
from tidemark.pipeline.results.result_table import panes_sql, published
from tidemark.pipeline.results.session_kind import SessionKind
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import PANES, result_of

Keys = tuple[Any, ...]
Window = tuple[int, int]
"""Start and end in milliseconds."""
_PUBLISHED_SQL = """
SELECT {keys}CAST(window_start AS BIGINT) / 1000 AS start_ms, CAST(window_end AS BIGINT) / 1000 AS end_ms
FROM result WHERE window_end > {final} AND window_start <= {latest}
"""


class Finality:
    """The end up to which the windows of each report are final. Times in milliseconds.

    Corrections cannot be rolled back, and a wrong clock may have moved the watermark ahead. So no window is final
    before the clock has reached its end.
    """

    def __init__(self, warehouse: str, final_until: Mapping[str, int], batch: int) -> None:
        """`final_until` has the end by name of report or totals; panes count up to `batch`, which is committed."""
        self._warehouse = warehouse
        self._batch = batch
        self.until = final_until
        self._open = cache(self._open_sessions)

    @classmethod
    def of(cls, warehouse: str, policy: Policy, ledger: Ledger, now: int) -> Self:
        """Returns the finality of all reports at `now`."""
        ends = {report.name: published(warehouse, result_of(report)).closed_until for report in policy.reports}
        # Read after the results, so that the ledger has all batches that were counted when these were published.
        newest = ledger.latest()
        if (reset_to := ledger.reset_to()) is not None:  # no service has started since the reset
            ends = {name: min(end, reset_to) for name, end in ends.items()}
        if policy.totals:
            ends[policy.totals.name] = max((row.watermark or 0 for row in newest), default=0)
        batch = max((row.batch for row in newest), default=0)
        return cls(warehouse, {name: min(end, now) for name, end in ends.items()}, batch)

    def holds(self, event: Row, consumer: Consumer, missed: Sequence[Window]) -> bool:
        """Returns whether no later event can change what an event adds to the windows in `missed`."""
        are_closed = all(lateness.is_closed(end, self.until[consumer.name]) for _, end in missed)
        if isinstance(consumer, UserTotals):
            return are_closed
        match consumer.windows:
            case Sessions() as windows:
                return self._meets_no_open_session(event, consumer, windows, missed)
            case Periodic() | CountWindows():
                return are_closed
            case _:
                assert_never(consumer.windows)

    def _meets_no_open_session(self, event: Row, report: Report, windows: Sessions, missed: Sequence[Window]) -> bool:
        """Returns whether no window in `missed` meets a session of the event's keys that may still change."""
        # Events in time are later than `final` less the gap, so they join no session that ends before.
        last = self.until[report.name] - windows.gap_ms
        keys = report.keys_of({report.stored(name): value for name, value in event.items()})
        return all(
            lateness.is_closed(end, last)
            and not any(first <= end and start <= until for first, until in self._open(report, windows)[keys])
            for start, end in missed
        )

    def _open_sessions(self, report: Report, windows: Sessions) -> Mapping[Keys, list[Window]]:
        """Returns by keys the sessions that may still change and start early enough to meet a correction."""
        sessions = defaultdict[Keys, list[Window]](list)
        final = self.until[report.name]
        for row in self._sessions(report, windows, final, final - windows.gap_ms):
            sessions[tuple(row[key] for key in report.keys)].append((row["start_ms"], row["end_ms"]))
        return sessions

    def _sessions(self, report: Report, windows: Sessions, final: int, latest: int) -> Iterator[Row]:
        """Returns sessions that end after `final` and start by `latest`: of the panes, then the published ones."""
        kind, panes = SessionKind(report), DeltaTable(PANES.uri(self._warehouse))
        for some in kind.key_ranges_sql(report.keys, kind.files(panes, self._batch).rows):
            sessions = kind.sessions(panes_sql(report, self._batch, some), panes, after=final)
            for row in sessions.filter(pc.less_equal(sessions[c.FIRST_TIME], latest)).to_pylist():
                yield {**row, "start_ms": row[c.FIRST_TIME], "end_ms": row[c.LAST_TIME] + windows.gap_ms}
        keys = "".join(f"{key}, " for key in report.keys)
        # Read after the panes: sessions whose panes were compacted meanwhile are published.
        result = DeltaTable(result_of(report).uri(self._warehouse))
        yield from rows_of(
            _PUBLISHED_SQL.format(keys=keys, final=utc_sql(final), latest=utc_sql(latest)), result=result
        )
