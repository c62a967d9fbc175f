"""Which windows are final, so that a correction may be decided for them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Self

import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time import lateness
from pipeline.event_time.policy import Consumer, Policy
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.session import Sessions
from pipeline.instants import utc
from pipeline.results.result_kind import key_ranges_sql
from pipeline.results.result_table import panes_sql, published
from pipeline.results.session_kind import SessionKind
from pipeline.tables.ledger import Ledger
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import PANES, result_of

Keys = tuple[Any, ...]
Window = tuple[int, int]
"""Start and end in milliseconds."""
_SHOWN = """
SELECT {keys}CAST(window_start AS BIGINT) / 1000 AS start_ms, CAST(window_end AS BIGINT) / 1000 AS end_ms
FROM it WHERE window_end > '{final}' AND window_start <= '{latest}'
"""


class Finality:
    """How far each report is final. Times in milliseconds.

    A watermark that a wrong clock took ahead must not decide what cannot be taken back, so no window is final before
    the clock has reached its end.
    """

    def __init__(self, warehouse: str, final_until: Mapping[str, int], batch: int) -> None:
        """`final_until` is by the names of reports and totals; `batch` is a committed one."""
        self._warehouse = warehouse
        self._batch = batch
        self.until = final_until
        self._open = cache(self._open_sessions)

    @classmethod
    def of(cls, warehouse: str, policy: Policy, ledger: Ledger, now: int) -> Self:
        """Returns how far all reports are final at `now`."""
        ends = {report.name: published(warehouse, result_of(report)).closed_until for report in policy.reports}
        # After the results: what was counted until these were published must be known.
        newest = ledger.latest()
        if (reset_to := ledger.reset_to()) is not None:  # no start has carried it to the tables yet
            ends = {name: min(end, reset_to) for name, end in ends.items()}
        if policy.totals:
            ends[policy.totals.name] = max((row.watermark or 0 for row in newest), default=0)
        batch = max((row.batch for row in newest), default=0)
        return cls(warehouse, {name: min(end, now) for name, end in ends.items()}, batch)

    def holds(self, event: Row, consumer: Consumer, missed: Sequence[Window]) -> bool:
        """Whether nothing that may still come can change what an event adds to the windows that it missed."""
        final = self.until[consumer.name]
        if not isinstance(consumer, Report) or not isinstance(consumer.windows, Sessions):
            return all(lateness.is_closed(end, final) for _, end in missed)
        # An event in time comes after `final` less the gap. What ends before that meets none of these.
        last = final - consumer.windows.gap_ms
        keys = tuple(event[key] for key in consumer.keys)
        return all(
            lateness.is_closed(end, last)
            and not any(first <= end and start <= until for first, until in self._open(consumer)[keys])
            for start, end in missed
        )

    def _open_sessions(self, report: Report) -> Mapping[Keys, list[Window]]:
        """Returns by keys the sessions that may still change and begin early enough to meet what is to be added."""
        windows = report.windows
        assert isinstance(windows, Sessions)  # noqa: S101 - for the type checker
        found = defaultdict[Keys, list[Window]](list)
        final = self.until[report.name]
        for row in self._of_panes(report, windows, final, final - windows.gap_ms):
            found[tuple(row[key] for key in report.keys)].append((row["start_ms"], row["end_ms"]))
        return found

    def _of_panes(self, report: Report, windows: Sessions, final: int, latest: int) -> Iterator[Row]:
        """Sessions that end after `final` and begin by `latest`: of the panes, then those that the table shows."""
        kind, panes = SessionKind(report), DeltaTable(PANES.uri(self._warehouse))
        for some in key_ranges_sql(report.keys, kind.files(panes, self._batch).rows):
            sessions = kind.sessions(panes_sql(report.name, self._batch, some), panes, after=final)
            for row in sessions.filter(pc.less_equal(sessions[c.FIRST_TIME], latest)).to_pylist():
                yield {**row, "start_ms": row[c.FIRST_TIME], "end_ms": row[c.LAST_TIME] + windows.gap_ms}
        keys = "".join(f"{key}, " for key in report.keys)
        # After the panes: what was swept from them meanwhile is shown.
        shown = DeltaTable(result_of(report).uri(self._warehouse))
        yield from rows_of(_SHOWN.format(keys=keys, final=utc(final), latest=utc(latest)), it=shown)
