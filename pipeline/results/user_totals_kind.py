"""Totals per user: what its final sessions add up to, and the sessions that an event may still join.

A publication rewrites the buckets in which a user changed: what it has of others are their rows. Rows that an older
process writes meanwhile are of users who are among the changed ones, too, so they go with their buckets.

A session is final when no event that is not too late can join it; compaction then keeps only how many there were. So
a correction adds to a user's counts and not to the sessions, of which it can no longer be told which ones it meets.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Transaction

from pipeline import columns as c
from pipeline.event_time.firing import TotalsDue
from pipeline.event_time.user_totals import UserTotals
from pipeline.results import buckets
from pipeline.results.islands import Islands, panes_of
from pipeline.results.levels import Run
from pipeline.results.measure_sql import joined_parts
from pipeline.results.result_kind import Merge, ResultKind, SourceTables, by_keys, rewrites
from pipeline.results.result_table import MANY_ROWS, PublicationPlan, ResultChunk, committed, moments
from pipeline.tables.query import query
from pipeline.tables.schemas import CORRECTIONS, PANES, USER_TOTALS, find_table
from pipeline.tables.transactions import CORRECTED_APP, FILLED_APP

# What a pane has of a user is one session, or final ones, which no event meets any more.
_SQL: Final = """
SELECT user_id, {joined}max(batch) AS batch, sum(sessions) AS sessions
FROM ({parts}) AS parts GROUP BY user_id, pane_start ORDER BY user_id, first_time, last_time
"""
_CORRECTED: Final = """
SELECT user_id, {added}0 AS batch, 0 AS sessions
FROM corrections WHERE report = '{report}' AND {among}
"""
_CHANGED: Final = "user_id IN (SELECT user_id FROM ({since}) AS since WHERE {some})"
_CORRECTED_SINCE: Final = (
    " UNION ALL SELECT user_id FROM corrections WHERE report = '{report}' AND correction > {corrected}"
)
_ROWS: Final = "SELECT count(*) AS rows FROM ({since}) AS since"
_NEWEST: Final = "SELECT max(correction) AS newest FROM corrections"
_ADDS_UP: Final = {**{part.name: part.join.value for part in UserTotals.parts}, c.BATCH: "max", c.SESSIONS: "sum"}
_TOLD: Final = pa.schema([PANES.schema.field(name) for name in (c.USER_ID, *_ADDS_UP)])


class UserTotalsKind(ResultKind[TotalsDue]):
    """The totals of every user."""

    def __init__(self, warehouse: str, totals: UserTotals) -> None:
        super().__init__(USER_TOTALS)
        self._totals = totals
        self._warehouse = warehouse

    def plan(self, firing: TotalsDue, batch: int, tables: SourceTables) -> PublicationPlan:  # noqa: ARG002 - the table records how far it is filled
        """Plans the buckets of users who have changed, with what was corrected; two where one grew too large."""
        corrections = find_table(CORRECTIONS.name, self._warehouse)
        sources = {PANES.name: tables.panes} | ({CORRECTIONS.name: corrections} if corrections else {})
        filled, corrected = (tables.results.transaction_version(app) for app in (FILLED_APP, CORRECTED_APP))
        newest = query(_NEWEST, **sources)["newest"][0].as_py() if corrections else None
        done = [Transaction(FILLED_APP, batch), Transaction(CORRECTED_APP, max(corrected or 0, newest or 0))]
        return PublicationPlan(self._chunks(batch, sources, tables.results, filled, corrected or 0), done)

    def _chunks(
        self, batch: int, tables: Mapping[str, DeltaTable], table: DeltaTable, filled: int | None, corrected: int
    ) -> Iterator[ResultChunk]:
        """Yields buckets that changed. Many users come in parts by their hashes; a bucket may have users of several."""
        parts = self._changed(batch, tables, filled, corrected)
        for part in parts:
            users, rows = part(), buckets.rows_by_bucket(table)
            touched = buckets.bucket_of(buckets.hashes(users[c.USER_ID]), rows)
            groups = [*buckets.portions(set(touched.tolist()), rows, MANY_ROWS)]
            for group in groups:
                changed = users.filter(pa.array(np.isin(touched, group)))
                is_last = part is parts[-1] and group is groups[-1]
                yield ResultChunk(*self._rewritten(group, changed, table, rows), is_last)

    def _rewritten(
        self, some: Sequence[int], changed: pa.Table, table: DeltaTable, there: Collection[int]
    ) -> tuple[pa.Table, str]:
        """Some buckets, with the users who have changed in the place of their rows."""
        before = query(f"SELECT * FROM user_totals WHERE {buckets.among(some)}", user_totals=table)  # noqa: S608 - ours
        kept = before.select(buckets.COLUMNS.names).cast(buckets.COLUMNS)
        kept = kept.filter(pc.invert(pc.is_in(kept[c.USER_ID], value_set=changed[c.USER_ID].combine_chunks())))
        data = buckets.in_buckets(pa.concat_tables([kept, changed]), there)
        return data, buckets.among({*some, *data[c.BUCKET].unique().to_pylist()})

    def _changed(
        self, batch: int, tables: Mapping[str, DeltaTable], filled: int | None, corrected: int
    ) -> Sequence[Callable[[], pa.Table]]:
        """The rows of users of whom panes or corrections have more than the table; of all users if it is empty."""
        since = f"SELECT user_id FROM ({committed(self.name, batch, f'{c.BATCH} > {filled or 0}')}) AS parts"  # noqa: S608 - ours
        if CORRECTIONS.name in tables and filled is not None:
            since += _CORRECTED_SINCE.format(report=self.name, corrected=corrected)
        parts = by_keys([c.USER_ID], query(_ROWS.format(since=since), **tables)["rows"][0].as_py())
        among = [_CHANGED.format(some=some, since=since) if filled is not None else some for some in parts]
        # As many parts by their hashes as there are statements, or more.
        return buckets.spread((self._told(batch, some, tables) for some in among), 1 << (len(parts) - 1).bit_length())

    def _told(self, batch: int, among: str, tables: Mapping[str, DeltaTable]) -> pa.Table:
        """The rows of the users for whom a condition holds."""
        parts = committed(self.name, batch, among)
        found = _of_users(
            pa.concat_tables([*self._sessions(parts, tables, final_before=0), self._corrected(tables, among)])
        )
        seen = {c.FIRST_SEEN: moments(found[c.FIRST_TIME]), c.LAST_SEEN: moments(found[c.LAST_TIME])}
        # A user who is known from corrections alone was there once.
        counted = {c.SESSIONS: pc.max_element_wise(found[c.SESSIONS], 1), c.PUBLISHED_BATCH: found[c.BATCH]}
        same = {name: found[name] for name in (c.USER_ID, c.PAGE_VIEWS, c.CLICKS)}
        return pa.table({**same, **seen, **counted}).select(buckets.COLUMNS.names).cast(buckets.COLUMNS)

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - nothing is published for the last time
        """One row per user for the sessions that ended before `cutoff`; one per other session."""
        yield from rewrites(self.name, runs, panes, [c.USER_ID], lambda parts: self._compacted(parts, panes, cutoff))

    def _compacted(self, parts: str, panes: DeltaTable, cutoff: int) -> pa.Table:
        done, others = self._sessions(parts, {PANES.name: panes}, cutoff)
        tables = [panes_of(_of_users(done), self.name), panes_of(others.drop_columns(c.SESSIONS), self.name)]
        return pa.concat_tables(tables)

    def _sessions(
        self, statement: str, tables: Mapping[str, DeltaTable], final_before: int
    ) -> tuple[pa.Table, pa.Table]:
        """The sessions of a statement's rows that ended before a time, of which some are counted, and the others."""
        sql = _SQL.format(joined=joined_parts(self._totals), parts=statement)
        # Of millions of users there is room for their rows once, and not for each step's.
        rows = _typed(query(sql, **tables))
        parts, counted = _apart(rows, pc.is_null(rows[c.SESSIONS]))
        del rows
        found = Islands(parts.drop_columns(c.SESSIONS), [c.USER_ID], self._totals.gap_ms).joined()
        del parts
        found = found.append_column(PANES.schema.field(c.SESSIONS), pa.repeat(pa.scalar(1, pa.int64()), len(found)))
        done, others = _apart(found, pc.less(pc.add(found[c.LAST_TIME], self._totals.gap_ms), final_before))
        return pa.concat_tables([counted, done]), others

    def _corrected(self, tables: Mapping[str, DeltaTable], among: str) -> pa.Table:
        """The corrected events, as parts of sessions that are counted."""
        if CORRECTIONS.name not in tables:
            return _TOLD.empty_table()
        added = "".join(f"{part.corrected} AS {part.name}, " for part in UserTotals.parts)
        return _typed(query(_CORRECTED.format(added=added, report=self.name, among=among), **tables))


def _apart(rows: pa.Table, is_first: pa.ChunkedArray) -> tuple[pa.Table, pa.Table]:
    """The rows for which a condition holds, and the others; none are copied where all are on one side."""
    number, nothing = pc.sum(is_first).as_py() or 0, rows.schema.empty_table()
    if number == len(rows):
        return rows, nothing
    return (rows.filter(is_first), rows.filter(pc.invert(is_first))) if number else (nothing, rows)


def _typed(rows: pa.Table) -> pa.Table:
    return rows.select(_TOLD.names).cast(_TOLD)


def _of_users(sessions: pa.Table) -> pa.Table:
    """A row for each user, with what its sessions add up to."""
    return sessions.group_by(c.USER_ID).aggregate(list(_ADDS_UP.items())).rename_columns([c.USER_ID, *_ADDS_UP])
