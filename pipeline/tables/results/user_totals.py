"""Totals per user: what its final sessions add up to, and the sessions that an event may still join.

A session is final when no event that is not too late can join it; compaction then keeps only how many there were. So
a correction adds to a user's counts and not to the sessions, of which it can no longer be told which ones it meets.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time.firing import Firing
from pipeline.event_time.user_totals import UserTotals
from pipeline.tables.query import query
from pipeline.tables.results.islands import Islands, panes_of
from pipeline.tables.results.kind import Merge, ResultKind, rewrites
from pipeline.tables.results.levels import Run
from pipeline.tables.results.measures import joined_parts
from pipeline.tables.results.result_table import Portion, committed, moments
from pipeline.tables.schemas import CORRECTIONS, PANES, USER_TOTALS, find_table

# What a pane has of a user is one session, or final ones, which no event meets any more.
_SQL: Final = """
SELECT user_id, {joined}max(batch) AS batch, sum(sessions) AS sessions
FROM ({parts}) AS parts GROUP BY user_id, pane_start ORDER BY user_id, first_time, last_time
"""
_CORRECTED: Final = """
SELECT user_id, {added}0 AS batch, 0 AS sessions
FROM corrections WHERE report = '{report}'
"""
_ADDS_UP: Final = {**{part.name: part.join.value for part in UserTotals.parts}, c.BATCH: "max", c.SESSIONS: "sum"}


class UserTotalsKind(ResultKind):
    """The totals of every user."""

    def __init__(self, warehouse: str, totals: UserTotals) -> None:
        super().__init__(USER_TOTALS)
        self._totals = totals
        self._warehouse = warehouse

    def portions(self, firing: Firing, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:  # noqa: ARG002 - all of it is due
        """The totals of every user, with what was corrected, in the place of the whole table."""
        found = _of_users(pa.concat_tables([*self._sessions(batch, panes, final_before=0), self._corrected()]))
        seen = {c.FIRST_SEEN: moments(found[c.FIRST_TIME]), c.LAST_SEEN: moments(found[c.LAST_TIME])}
        same = {name: found[name] for name in (c.USER_ID, c.PAGE_VIEWS, c.CLICKS)}
        # A user who is known from corrections alone was there once.
        sessions = {c.SESSIONS: pc.max_element_wise(found[c.SESSIONS], 1)}
        rows = pa.table({**same, **seen, **sessions, c.PUBLISHED_BATCH: found[c.BATCH]})
        yield rows, f"{c.USER_ID} IS NOT NULL"

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - nothing is published for the last time
        """One row per user for the sessions that ended before `cutoff`; one per other session."""
        yield from rewrites(self.name, runs, panes, lambda batch: self._compacted(batch, panes, cutoff))

    def _compacted(self, batch: int, panes: DeltaTable, cutoff: int) -> pa.Table:
        done, others = self._sessions(batch, panes, cutoff)
        tables = [panes_of(_of_users(done), self.name), panes_of(others.drop_columns(c.SESSIONS), self.name)]
        return pa.concat_tables(tables)

    def _sessions(self, batch: int, panes: DeltaTable, final_before: int) -> tuple[pa.Table, pa.Table]:
        """The sessions that ended before a time, of which some are counted already, and the others."""
        sql = _SQL.format(joined=joined_parts(self._totals), parts=committed(self.name, batch))
        rows = _typed(query(sql, panes=panes))
        counted, parts = rows.filter(pc.is_valid(rows[c.SESSIONS])), rows.filter(pc.is_null(rows[c.SESSIONS]))
        found = Islands(parts.drop_columns(c.SESSIONS), [c.USER_ID], self._totals.gap_ms).joined()
        found = found.append_column(PANES.schema.field(c.SESSIONS), pa.repeat(pa.scalar(1, pa.int64()), len(found)))
        done = pc.less(pc.add(found[c.LAST_TIME], self._totals.gap_ms), final_before)
        return pa.concat_tables([counted, found.filter(done)]), found.filter(pc.invert(done))

    def _corrected(self) -> pa.Table:
        """The corrected events, as parts of sessions that are counted."""
        corrections = find_table(CORRECTIONS.name, self._warehouse)
        if corrections is None:
            return _typed(pa.table({name: [] for name in (c.USER_ID, *_ADDS_UP)}))
        added = "".join(f"{part.corrected} AS {part.name}, " for part in UserTotals.parts)
        sql = _CORRECTED.format(added=added, report=self.name)
        return _typed(query(sql, corrections=corrections))


def _typed(rows: pa.Table) -> pa.Table:
    fields = [PANES.schema.field(name) for name in (c.USER_ID, *_ADDS_UP)]
    return rows.select([one.name for one in fields]).cast(pa.schema(fields))


def _of_users(sessions: pa.Table) -> pa.Table:
    """A row for each user, with what its sessions add up to."""
    return sessions.group_by(c.USER_ID).aggregate(list(_ADDS_UP.items())).rename_columns([c.USER_ID, *_ADDS_UP])
