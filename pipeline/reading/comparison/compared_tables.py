"""Compares the tables of two warehouses one by one: reports, their live views, totals and dead letters."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report, view_name
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.instants import utc_sql
from tidemark.pipeline.reading.comparison.common_spans import (
    ANY_TIME,
    Sides,
    Start,
    WindowSpan,
    common_start,
    have_same_ends,
    instant_text,
    offset_spans,
    offsets_left_out,
    window_span,
)
from tidemark.pipeline.reading.comparison.comparison_outcome import TableComparison
from tidemark.pipeline.reading.comparison.row_differences import ComparedRows, TwoWarehouses, sql_of
from tidemark.pipeline.reading.comparison.setting_differences import common_measures, have_same_rows
from tidemark.pipeline.reading.comparison.side import Side
from tidemark.pipeline.results.live_view import live_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, PANES

_WINDOW: Final = (c.WINDOW_START, c.WINDOW_END)
_OF_BATCHES: Final = {c.PUBLISHED_BATCH: "the id of a batch"}
_LATE_BY_CUTS: Final = {
    c.LATE_EVENTS: "it counts events that came in a later batch than their window fired in: it depends on the cuts",
}
_NO_ROWS: Final = (
    "all windows, because no window that is final in both has a row, and the two have not read the same offsets"
)
_OF_STATES: Final = "it serves to join rows; the measure that is made of it is compared"
_OPEN: Final = "live views do not have it for open windows"
_STATE: Final = {"state": "it depends on how far the watermark has come"}
_POSITION: Final = ("topic", "partition", "offset")
_OF_LETTERS: Final = {
    **dict.fromkeys(("kafka_timestamp", "key", "value"), "the record has it, which the position names"),
    **dict.fromkeys(("event_time", "user_id"), "read from the record, or removed by `tidemark erase`"),
    "batch": "the id of a batch",
}
_JUDGED: Final = (c.WATERMARK, "detail")
_JUDGED_BY_CUTS: Final = dict.fromkeys(_JUDGED, "they may name the watermark, which depends on the cuts")
_TOTALS: Final = ("first_seen", "last_seen", "sessions", "page_views", "clicks")
_OF_TOTALS: Final = {c.PUBLISHED_BATCH: "the id of a batch", c.BUCKET: "the partition of the table"}


class ComparedTables:
    """Compares the tables of two warehouses that read the same topic."""

    def __init__(self, sides: Sides, engine: TwoWarehouses) -> None:
        self._sides, self._engine = sides, engine
        self._start: Start = common_start(*sides)
        self._depends_on_cuts = not all(side.by_arrival for side in sides)

    def all(self) -> Iterator[TableComparison]:
        """Yields the outcome for each table."""
        one, other = self._sides
        for name in dict.fromkeys([*one.reports, *other.reports]):
            yield from self._report(name, one.reports.get(name), other.reports.get(name))
        if one.opening.policy.totals or other.opening.policy.totals:
            yield self._totals()
        yield self._letters()

    def _report(self, name: str, one: Report | None, other: Report | None) -> Iterator[TableComparison]:
        if one is None or other is None:
            yield _refused(name, "all rows, because only one of the two has this report")
        elif not have_same_rows(one, other):
            yield _refused(name, "all rows, because the two define its keys, filter or windows otherwise")
        elif self._have_other_people([*one.keys, *(each.name for each in one.dimensions if each.personal)]):
            yield _refused(name, "all rows, because the two store users by other pseudonyms")
        else:
            yield from self._windows(one, other, window_span(one, self._sides, self._start))

    def _have_other_people(self, keys: Sequence[str]) -> bool:
        one, other = (side.opening.pseudonyms for side in self._sides)
        personal = {each.name for side in self._sides for each in side.opening.policy.personal_dimensions}
        return one != other and bool({*keys} & {c.USER_ID, *personal})

    def _windows(self, one: Report, other: Report, span: WindowSpan) -> Iterator[TableComparison]:
        common = common_measures(one, other)
        lacks = tuple(name for name in dict.fromkeys([*one.measures, *other.measures]) if name not in common)
        report, not_compared = replace(one, measures=tuple(common)), span.not_compared
        final = None if span.closed is None else self._final(report, span.closed, span.since)
        if not span.is_live and (final is None or final.has_no_rows):
            yield _refused(report.name, *(not_compared if final is None else [_NO_ROWS]))
            return
        if final:
            yield replace(final, not_compared=not_compared, lacks=lacks)
        if span.is_live:
            live = self._live(report, span)
            yield live if final else replace(live, not_compared=not_compared, lacks=lacks)

    def _final(self, report: Report, closed: int, since: int) -> TableComparison:
        where = f"window_end <= {utc_sql(closed)}{_since_sql(since)}"
        states = dict.fromkeys(sorted(report.hidden), _OF_STATES)
        phrase = f"windows that end by {instant_text(closed)}{_since_text(since)}, which are final in both"
        return self._rows_of(report, report.name, where, phrase, [*report.measures], {**states, **_OF_BATCHES})

    def _live(self, report: Report, span: WindowSpan) -> TableComparison:
        name = view_name(report.name)
        for side in self._sides:
            corrected = CORRECTIONS.name in side.tables
            defined, panes = side.reports[report.name], side.tables.get(PANES.name)
            query = live_sql(side.warehouse, defined, Engine.DELTA_RS, corrected=corrected, panes=panes)
            self._engine.create_view(side.name, name, query)
        # Open windows are computed from panes, by SQL that has no sketches.
        absent = {
            measure.name
            for measure in report.chosen_measures
            if measure.sql or (measure.part.join.is_sketch and measure.part in report.parts)
        }
        measures = [measure for measure in report.measures if measure not in absent]
        where, phrase = "true", "all windows"
        if report.windows.by_time:
            after = "" if span.closed is None else f"window_end > {utc_sql(span.closed)}"
            where = f"{after or 'true'}{_since_sql(span.since)}"
            phrase = "all other windows" if after else f"all windows{_since_text(span.since)}"
        left_out = {**dict.fromkeys(sorted(absent), _OPEN), **_OF_BATCHES, **_STATE}
        return self._rows_of(report, name, where, f"{phrase}, open or not", measures, left_out)

    def _rows_of(
        self, report: Report, name: str, where: str, phrase: str, measures: Sequence[str], left_out: dict[str, str]
    ) -> TableComparison:
        cell = (*_WINDOW, *report.row_keys)
        if self._depends_on_cuts:
            left_out = {**left_out, **_LATE_BY_CUTS}
        else:
            measures = [*measures, c.LATE_EVENTS]
        columns = ", ".join(f'"{column}"' for column in (*cell, *measures))
        rows = ComparedRows(
            sql=sql_of(self._sides, lambda side: f'SELECT {columns} FROM {side.name}."{name}" WHERE {where}'),  # noqa: S608 - our own names
            cell=cell,
            values=measures,
            count=_row_count(self._sides, report.name),
            split_by=report.keys,
        )
        return TableComparison(name, phrase, self._engine.compare(rows), cell, measures, left_out)

    def _totals(self) -> TableComparison:
        name = UserTotals.name
        one, other = self._sides
        reason = self._no_totals()
        if reason:
            return _refused(name, f"all rows, because {reason}")
        are_published = all(_has_all_totals(side) for side in self._sides)
        values = [value for value in _TOTALS if are_published or value != c.SESSIONS]
        left_out = dict(_OF_TOTALS)
        if not are_published:
            left_out[c.SESSIONS] = "the last changes are not published yet: only other columns can be added to the rows"
        rows = ComparedRows(
            sql=sql_of(self._sides, lambda side: _totals_sql(side, values)),
            cell=(c.USER_ID,),
            values=values,
            count=_row_count((one, other), name),
            split_by=(c.USER_ID,),
        )
        return TableComparison(name, "all users", self._engine.compare(rows), (c.USER_ID,), values, left_out)

    def _no_totals(self) -> str:
        """Returns why the totals cannot be compared; empty if they can."""
        one, other = self._sides
        if one.opening.policy.totals is None or other.opening.policy.totals is None:
            return "only one of the two has totals"
        if one.opening.policy.totals != other.opening.policy.totals:
            return "the two define them otherwise"
        if self._have_other_people([c.USER_ID]):
            return "the two store users by other pseudonyms"
        if None in (one.progress.totals, other.progress.totals) or self._start.since != ANY_TIME:
            return "not both have every event since the first"
        return "" if have_same_ends(one, other) else "the two have not read the same offsets"

    def _letters(self) -> TableComparison:
        name = DEAD_LETTERS.name
        spans = offset_spans(*self._sides)
        left = {side.name: offsets_left_out(side, spans) for side in self._sides}
        not_compared = [
            f"{counted(count, 'offset')} that {name_of} has read and the other has not, or whose dead letters were "
            "removed by age"
            for name_of, count in left.items()
            if count
        ]
        if not spans:
            return TableComparison(name, "", None, not_compared=not_compared or ["neither has read an offset"])
        within = " OR ".join(
            f'("partition" = {span.partition} AND "offset" >= {span.first} AND "offset" < {span.last})'
            for span in spans
        )
        values = [c.REASON] if self._depends_on_cuts else [c.REASON, *_JUDGED]
        left_out = {**_OF_LETTERS, **(_JUDGED_BY_CUTS if self._depends_on_cuts else {})}
        columns = ", ".join(f'"{column}"' for column in (*_POSITION, *values))
        rows = ComparedRows(
            sql=sql_of(
                self._sides,
                lambda side: (
                    f'SELECT {columns} FROM {side.name}."{name}" '  # noqa: S608 - our own names
                    f"WHERE batch IN (SELECT batch FROM {side.name}.ledger) AND ({within})"
                ),
            ),
            cell=_POSITION,
            values=values,
            count=_row_count(self._sides, name),
            split_by=("partition", "offset"),
        )
        offsets = counted(sum(span.last - span.first for span in spans), "offset")
        phrase = f"{offsets} of {counted(len(spans), 'partition')} that both have read"
        return TableComparison(name, phrase, self._engine.compare(rows), _POSITION, values, left_out, not_compared)


def _refused(name: str, *phrases: str) -> TableComparison:
    return TableComparison(name, "", None, not_compared=phrases)


def _since_sql(since: int) -> str:
    return f" AND window_start >= {utc_sql(since)}" if since > ANY_TIME else ""


def _since_text(since: int) -> str:
    return f" and start at or after {instant_text(since)}" if since > ANY_TIME else ""


def _row_count(sides: Sides, name: str) -> int:
    return sum(side.tables[name].count() for side in sides if name in side.tables)


def _has_all_totals(side: Side) -> bool:
    totals = side.progress.totals
    return totals is not None and totals.batch >= side.summary.batch


def _totals_sql(side: Side, values: Sequence[str]) -> str:
    """Returns SQL of the totals; without sessions, those with the events that are not published yet."""
    if c.SESSIONS in values:
        return f"SELECT user_id, {', '.join(values)} FROM {side.name}.{UserTotals.name}"  # noqa: S608 - our own names
    totals = side.progress.totals
    assert totals is not None  # noqa: S101 - `_no_totals` has looked
    time = Engine.DELTA_RS.time
    return (
        "SELECT user_id, min(first_seen) AS first_seen, max(last_seen) AS last_seen, "  # noqa: S608 - our own names
        "sum(page_views) AS page_views, sum(clicks) AS clicks FROM ("
        f"SELECT user_id, first_seen, last_seen, page_views, clicks FROM {side.name}.{UserTotals.name} UNION ALL "
        f"SELECT user_id, {time('first_time')}, {time('last_time')}, page_views, clicks FROM {side.name}.{PANES.name} "
        f"WHERE report = '{UserTotals.name}' AND batch > {totals.batch} "
        f"AND batch IN (SELECT batch FROM {side.name}.ledger)) AS events GROUP BY user_id"
    )
