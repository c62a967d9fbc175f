"""Totals per user, over final sessions and sessions that an event may still join.

A publication rewrites the buckets in which a user changed, and copies the rows of their other users. Rows that an older
process writes meanwhile are of users who changed, too, so they are replaced with their buckets.

A session is final when no event in time can join it. Compaction then stores only the count of final sessions, so it is
unknown which sessions a correction meets: it changes the counts of events, but not that of sessions.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.firing import TotalsDue
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.results import buckets
from tidemark.pipeline.results.levels import Run
from tidemark.pipeline.results.measure_sql import joined_parts_sql
from tidemark.pipeline.results.partial_sessions import PartialSessions, sessions_as_panes
from tidemark.pipeline.results.result_kind import Merge, ResultKind, SourceTables
from tidemark.pipeline.results.result_table import PublicationPlan, ResultChunk, panes_sql, timestamps
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import CORRECTIONS, PANES, USER_TOTALS, find_table
from tidemark.pipeline.tables.transactions import CORRECTED_APP, FILLED_APP
from tidemark.pipeline.tuning import Tuning

# The rows of a user in one pane are one session, or final sessions, which no event meets.
_PARTIAL_SESSIONS_SQL: Final = """
SELECT user_id, {joined}max(batch) AS batch, sum(sessions) AS sessions
FROM ({parts}) AS parts GROUP BY user_id, pane_start ORDER BY user_id, first_time, last_time
"""
_CORRECTED_SQL: Final = """
SELECT user_id, {added}0 AS batch, 0 AS sessions
FROM corrections WHERE report = '{report}' AND {condition}
"""
_CHANGED_SQL: Final = "user_id IN (SELECT user_id FROM ({since}) AS since WHERE {range})"
_CORRECTED_SINCE_SQL: Final = (
    " UNION ALL SELECT user_id FROM corrections WHERE report = '{report}' AND correction > {corrected}"
)
_ROW_COUNT_SQL: Final = "SELECT count(*) AS rows FROM ({since}) AS since"
_NEWEST_SQL: Final = "SELECT max(correction) AS newest FROM corrections"
_AGGREGATES: Final = {**{part.name: part.join.value for part in UserTotals.parts}, c.BATCH: "max", c.SESSIONS: "sum"}
_COLUMNS: Final = pa.schema([PANES.schema.field(name) for name in (c.USER_ID, *_AGGREGATES)])


class UserTotalsKind(ResultKind[TotalsDue]):
    """The result kind of `user_totals`."""

    def __init__(self, warehouse: str, totals: UserTotals, tuning: Tuning) -> None:
        super().__init__(USER_TOTALS, tuning)
        self._totals = totals
        self._warehouse = warehouse

    def plan(self, firing: TotalsDue, batch: int, tables: SourceTables) -> PublicationPlan:  # noqa: ARG002 - the table records how far it is filled
        """Plans the buckets of users who changed or were corrected; a bucket that grew too large is split."""
        corrections = find_table(CORRECTIONS.name, self._warehouse)
        sources = {PANES.name: tables.panes} | ({CORRECTIONS.name: corrections} if corrections else {})
        filled, corrected = (tables.results.transaction_version(app) for app in (FILLED_APP, CORRECTED_APP))
        newest = query(_NEWEST_SQL, **sources)["newest"][0].as_py() if corrections else None
        versions = [Transaction(FILLED_APP, batch), Transaction(CORRECTED_APP, max(corrected or 0, newest or 0))]
        return PublicationPlan(self._chunks(batch, sources, tables.results, filled, corrected or 0), versions)

    def _chunks(
        self, batch: int, tables: Mapping[str, DeltaTable], table: DeltaTable, filled: int | None, corrected: int
    ) -> Iterator[ResultChunk]:
        """Yields the changed buckets. Many users come in parts by hash; a bucket may have users of several parts."""
        parts = self._changed(batch, tables, filled, corrected)
        for part in parts:
            users, rows = part(), buckets.rows_by_bucket(table)
            touched = buckets.bucket_of(buckets.hashes(users[c.USER_ID]), rows)
            groups = [*buckets.groups(set(touched.tolist()), rows, self._tuning.chunk_rows)]
            for group in groups:
                changed = users.filter(pa.array(np.isin(touched, group)))
                is_last = part is parts[-1] and group is groups[-1]
                yield ResultChunk(*self._rewritten(group, changed, table, rows), is_last)

    def _rewritten(
        self, group: Sequence[int], changed: pa.Table, table: DeltaTable, existing: Collection[int]
    ) -> tuple[pa.Table, str]:
        """Returns the rows of a group of buckets after the change, and the SQL condition for the rows they replace."""
        before = query(f"SELECT * FROM user_totals WHERE {buckets.in_buckets_sql(group)}", user_totals=table)  # noqa: S608 - ours
        others = before.select(buckets.COLUMNS.names).cast(buckets.COLUMNS)
        others = others.filter(pc.invert(pc.is_in(others[c.USER_ID], value_set=changed[c.USER_ID].combine_chunks())))
        data = buckets.in_buckets(pa.concat_tables([others, changed]), existing, self._tuning.bucket_rows)
        return data, buckets.in_buckets_sql({*group, *data[c.BUCKET].unique().to_pylist()})

    def _changed(
        self, batch: int, tables: Mapping[str, DeltaTable], filled: int | None, corrected: int
    ) -> Sequence[Callable[[], pa.Table]]:
        """Returns readers of rows of users who changed after batch `filled` (None: all) or correction `corrected`."""
        since = f"SELECT user_id FROM ({panes_sql(self._totals, batch, f'{c.BATCH} > {filled or 0}')}) AS parts"  # noqa: S608 - ours
        if CORRECTIONS.name in tables and filled is not None:
            since += _CORRECTED_SINCE_SQL.format(report=self.name, corrected=corrected)
        ranges = self.key_ranges_sql(
            [c.USER_ID], query(_ROW_COUNT_SQL.format(since=since), **tables)["rows"][0].as_py()
        )
        users = [_CHANGED_SQL.format(range=keys, since=since) if filled is not None else keys for keys in ranges]
        # At least as many parts by their hashes as there are statements.
        rows = (self._totals_of(batch, condition, tables) for condition in users)
        return buckets.spread(rows, 1 << (len(ranges) - 1).bit_length())

    def _totals_of(self, batch: int, condition: str, tables: Mapping[str, DeltaTable]) -> pa.Table:
        """Returns the rows of the users who fulfil an SQL condition."""
        parts = panes_sql(self._totals, batch, condition)
        # Not in a variable, because memory has no room for the sessions and the totals of millions of users.
        totals = _by_user(
            pa.concat_tables([*self._sessions(parts, tables, final_before=0), self._corrected(tables, condition)])
        )
        seen = {c.FIRST_SEEN: timestamps(totals[c.FIRST_TIME]), c.LAST_SEEN: timestamps(totals[c.LAST_TIME])}
        # A user with corrections only has one session.
        counts = {c.SESSIONS: pc.max_element_wise(totals[c.SESSIONS], 1), c.PUBLISHED_BATCH: totals[c.BATCH]}
        same = {name: totals[name] for name in (c.USER_ID, c.PAGE_VIEWS, c.CLICKS)}
        return pa.table({**same, **seen, **counts}).select(buckets.COLUMNS.names).cast(buckets.COLUMNS)

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - totals are never final
        """Yields merges to one row per user for sessions that ended before `cutoff`, and one row per other session."""
        yield from self.rewrites(runs, panes, self._totals, lambda parts: self._compacted(parts, panes, cutoff))

    def _compacted(self, parts: str, panes: DeltaTable, cutoff: int) -> pa.Table:
        final, others = self._sessions(parts, {PANES.name: panes}, cutoff)
        users = sessions_as_panes(_by_user(final), self._totals)
        return pa.concat_tables([users, sessions_as_panes(others.drop_columns(c.SESSIONS), self._totals)])

    def _sessions(self, parts: str, tables: Mapping[str, DeltaTable], final_before: int) -> tuple[pa.Table, pa.Table]:
        """Splits the sessions of `parts`, SQL of panes, into those that ended before `final_before` (ms) and others.

        Final sessions that compaction has counted are rows of users.
        """
        sql = _PARTIAL_SESSIONS_SQL.format(joined=joined_parts_sql(self._totals), parts=parts)
        # Rows of millions of users fit into memory once, and not once for each step.
        rows = _typed(query(sql, **tables))
        partial, counted = _split(rows, pc.is_null(rows[c.SESSIONS]))
        del rows
        sessions = PartialSessions(partial.drop_columns(c.SESSIONS), [c.USER_ID], self._totals.gap_ms).joined()
        del partial
        ones = pa.repeat(pa.scalar(1, pa.int64()), len(sessions))
        sessions = sessions.append_column(PANES.schema.field(c.SESSIONS), ones)
        final, others = _split(sessions, pc.less(pc.add(sessions[c.LAST_TIME], self._totals.gap_ms), final_before))
        return pa.concat_tables([counted, final]), others

    def _corrected(self, tables: Mapping[str, DeltaTable], condition: str) -> pa.Table:
        """Returns the corrected events of users who fulfil an SQL condition; they add no sessions."""
        if CORRECTIONS.name not in tables:
            return _COLUMNS.empty_table()
        added = "".join(f"{part.corrected} AS {part.name}, " for part in UserTotals.parts)
        return _typed(query(_CORRECTED_SQL.format(added=added, report=self.name, condition=condition), **tables))


def _split(rows: pa.Table, is_first: pa.ChunkedArray) -> tuple[pa.Table, pa.Table]:
    """Returns the flagged and the other rows; without a copy if all rows have the same flag."""
    count, empty = pc.sum(is_first).as_py() or 0, rows.schema.empty_table()
    if count == len(rows):
        return rows, empty
    return (rows.filter(is_first), rows.filter(pc.invert(is_first))) if count else (empty, rows)


def _typed(rows: pa.Table) -> pa.Table:
    return rows.select(_COLUMNS.names).cast(_COLUMNS)


def _by_user(sessions: pa.Table) -> pa.Table:
    """Adds up sessions to a row for each user."""
    return sessions.group_by(c.USER_ID).aggregate(list(_AGGREGATES.items())).rename_columns([c.USER_ID, *_AGGREGATES])
