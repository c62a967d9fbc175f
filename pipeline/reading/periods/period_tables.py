"""Answers the questions of `Store` from the tables of a warehouse, by the query engine of delta-rs."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.instants import moment, ms_of
from tidemark.pipeline.reading.periods.filters import Only
from tidemark.pipeline.reading.periods.limited_lists import is_limited, limited_columns, listed, listed_sql
from tidemark.pipeline.reading.periods.period_sources import COUNTS, EXIT_PAGE, Visits
from tidemark.pipeline.reading.periods.store import Runs, Top, VisitSums
from tidemark.pipeline.reading.periods.tiling import WindowLevel, WindowRun
from tidemark.pipeline.reading.table_reader import CurrentTables, keys_sql, text_sql, time_sql
from tidemark.pipeline.sketches import estimate, merged
from tidemark.pipeline.tables.file_statistics import rows_within
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import USER_TOTALS

_VISITS_SQL: Final = """
count(*) AS visits, sum(CASE WHEN {going} THEN 1 ELSE 0 END) AS going,
sum(CASE WHEN {going} THEN 0 ELSE bounced END) AS bounced,
median(CASE WHEN {going} THEN NULL ELSE CAST(duration_ms AS DOUBLE) END) / 1000 AS median_s,
avg(CASE WHEN {going} THEN NULL ELSE CAST(duration_ms AS DOUBLE) END) / 1000 AS mean_s,
avg(CASE WHEN {going} THEN NULL ELSE CAST(page_views AS DOUBLE) END) AS mean_views,
sum(CASE WHEN {going} OR window_end > {closed} THEN 1 ELSE 0 END) AS unfinal, max(window_end) AS last_end
"""
_ROWS: Final = "{rows}"
"""Stands for the rows of some runs in SQL."""
_SUMS_SQL: Final = "SELECT {sums} FROM ({rows}) AS parts"
_EVERY: Final[Only] = {}
_GOING: Final = "state = 'open'"
_TOP_SQL: Final = """
SELECT *, count(*) OVER () AS number, {totals} FROM (SELECT key, {sums} FROM ({rows}) AS parts GROUP BY key) AS by_key
ORDER BY {order}, key NULLS LAST LIMIT {most}
"""


@dataclass(frozen=True, slots=True)
class PeriodTables:
    """The published windows of a warehouse, as of one look at its tables."""

    tables: CurrentTables

    def sums(self, runs: Runs, only: Only) -> dict[str, int]:
        """Returns the sums of page views and clicks."""
        rows = self._rows(_SUMS_SQL.format(sums=_sums_sql(COUNTS), rows=_ROWS), runs, COUNTS, only)
        return {name: sum(row[name] or 0 for row in rows) for name in COUNTS}

    def by_window(self, level: WindowLevel, start: int, end: int, only: Only) -> dict[int, int]:
        """Returns page views by the end (ms) of each window in `[start, end)` that has some."""
        return self._by_end(level, f"CAST(sum({c.PAGE_VIEWS}) AS BIGINT)", (start, end), only)

    def has_more_users(self, runs: Runs, than: int) -> bool:
        """Returns whether there are more rows with a user than that; usually the statistics of files suffice."""
        levels = {run.level: run.level for run in runs}
        if sum(self._rows_in_files(level, runs) for level in levels) <= than:
            return False
        rows = self._rows(_SUMS_SQL.format(sums="count(*) AS number", rows=_ROWS), runs, (c.PAGE_VIEWS,))
        return sum(int(row["number"]) for row in rows) > than

    def users(self, runs: Runs, only: Only) -> int:
        """Returns the exact number of different users."""
        sql = _SUMS_SQL.format(sums=f"count(DISTINCT {c.USER_ID}) AS users", rows=_ROWS)
        return sum(int(row["users"]) for row in self._rows(sql, runs, (_plain(c.USER_ID),), only))

    def users_by_bar(self, bars: Sequence[Runs]) -> list[int]:
        """Returns the exact number of different users of each bar."""
        single = {number: run for number, bar in enumerate(bars) if (run := _window_of_users(bar))}
        found = self._users_of_windows(single) | self._users_of_bars(
            {number: bar for number, bar in enumerate(bars) if bar and number not in single}
        )
        return [found.get(number, 0) for number in range(len(bars))]

    def _users_of_windows(self, windows: Mapping[int, WindowRun]) -> dict[int, int]:
        """Returns the number of users of windows with one row for each, by number: there is nothing to compare."""
        found = dict[int, int]()
        for level in {run.level for run in windows.values()}:
            numbers = {run: number for number, run in windows.items() if run.level == level}
            span = min(run.start for run in numbers), max(run.end for run in numbers)
            users = self._by_end(level, f"count({c.USER_ID})", span)
            found |= {number: users.get(run.end, 0) for run, number in numbers.items()}
        return found

    def _users_of_bars(self, bars: Mapping[int, Runs]) -> dict[int, int]:
        """Returns the number of different users of bars, by number."""
        if not bars:
            return {}
        ends = dict[str, list[tuple[int, int]]]()
        for number, bar in bars.items():
            for run in bar:
                ends.setdefault(run.level.report.name, []).extend((end, number) for end in run.ends)
        parts = [
            f"SELECT bar, {_plain(c.USER_ID)} FROM {_name(name)} JOIN (VALUES {_values(pairs)}) AS bars (end_us, bar) "  # noqa: S608 - ours
            f"ON CAST({c.WINDOW_END} AS BIGINT) = end_us WHERE {c.WINDOW_END} >= {time_sql(min(pairs)[0])} "
            f"AND {c.WINDOW_END} <= {time_sql(max(pairs)[0])}"
            for name, pairs in ends.items()
        ]
        levels = {run.level.report.name: run.level for bar in bars.values() for run in bar}
        rows = rows_of(
            f"SELECT bar, count(DISTINCT {c.USER_ID}) AS users FROM ({' UNION ALL '.join(parts)}) AS rows GROUP BY bar",  # noqa: S608 - ours
            **{_name(name): self._table(level) for name, level in levels.items()},
        )
        return {row["bar"]: int(row["users"]) for row in rows}

    def estimate(self, runs: Runs, only: Only) -> int:
        """Returns the estimated number of different users, from sketches."""
        rows = self._rows(_ROWS, runs, (c.USERS_SKETCH,), only)
        return estimate(merged(row[c.USERS_SKETCH] for row in rows)) if rows else 0

    def estimates(self, runs: Runs, pages: Collection[str]) -> dict[str, int]:
        """Returns the estimated number of different users by page."""
        if not pages:
            return {}
        rows = self._rows(_ROWS, runs, (_plain(c.PAGE_URL), c.USERS_SKETCH), pages=pages)
        sketches = dict[str, list[bytes]]()
        for row in rows:
            sketches.setdefault(row[c.PAGE_URL], []).append(row[c.USERS_SKETCH])
        return {page: estimate(merged(of_page)) for page, of_page in sketches.items()}

    def top(self, runs: Runs, key: str, most: int, only: Only) -> Top:
        """Returns the `most` values of a key with the most page views, then clicks."""
        if is_limited(runs, key):
            sql = listed_sql(_ROWS, most, is_filtered=bool(only))
            return listed(self._rows(sql, runs, limited_columns(key), only), most)
        selected = (f"CAST({key} AS VARCHAR) AS key", *COUNTS)
        order = ", ".join(f"{name} DESC" for name in COUNTS)
        totals = ", ".join(f"CAST(sum({name}) OVER () AS BIGINT) AS total_{name}" for name in COUNTS)
        sql = _TOP_SQL.format(sums=_sums_sql(COUNTS), totals=totals, rows=_ROWS, order=order, most=most)
        rows = self._rows(sql, runs, selected, only)
        if not rows:
            return Top([], dict.fromkeys(COUNTS, 0), 0)
        return _top(rows, {name: int(rows[0][f"total_{name}"] or 0) for name in COUNTS}, rows[0]["number"])

    def visits(self, visits: Visits, start: int, end: int, only: Only) -> VisitSums:
        """Returns the visits that began in `[start, end)`.

        With an exit page in `only` visits that are still going are among them, because theirs is not known.
        """
        select = _VISITS_SQL.format(going=_GOING, closed=time_sql(visits.progress.closed))
        rows = self._live(visits, select, _began_sql(visits, (start, end), only), start)
        if not rows or not rows[0]["visits"]:
            return VisitSums()
        row = rows[0]
        last_end = ms_of(row.pop("last_end"))
        return VisitSums(**row, last_end=last_end)

    def top_visits(
        self,
        visits: Visits,
        texts: Sequence[str],
        span: tuple[int, int],
        most: int,
        only: Only,
        ended: Collection[str],
    ) -> dict[str, Top]:
        """Returns by text measure (or users) the `most` values with the most visits; of `ended` only ended visits."""
        groups = ", ".join(f"grouping({text}) AS is_other_{index}" for index, text in enumerate(texts))
        select = f"{', '.join(texts)}, {groups}, count(*) AS visits, sum(CASE WHEN {_GOING} THEN 0 ELSE 1 END) AS ended"
        sets = ", ".join(f"({text})" for text in texts)
        rest = f"{_began_sql(visits, span, only)} GROUP BY GROUPING SETS ({sets})"
        rows = self._live(visits, select, rest, span[0]) if texts else []
        return {
            text: _top_visits(
                [(row[text] or None, row["ended" if text in ended else "visits"]) for row in rows if not row[of]], most
            )
            for text, of in ((text, f"is_other_{index}") for index, text in enumerate(texts))
        }

    def new_users(self, start: int, end: int) -> int:
        """Returns the number of users whose first event of all is in `[start, end)`."""
        table = self.tables.find(USER_TOTALS.name)
        if table is None:
            return 0
        within = f"{c.FIRST_SEEN} >= {time_sql(start)} AND {c.FIRST_SEEN} < {time_sql(end)}"
        return int(rows_of(f"SELECT count(*) AS users FROM totals WHERE {within}", totals=table)[0]["users"])  # noqa: S608 - ours

    def _live(self, visits: Visits, select: str, rest: str, start: int) -> list[Row]:
        return self.tables.live(visits.report, select, rest, (start, None), {}, visits.progress.batch)

    def _by_end(self, level: WindowLevel, number: str, span: tuple[int, int], only: Only = _EVERY) -> dict[int, int]:
        """Returns the `number` (SQL) of the rows of each window in `span` that has some, by its end (ms)."""
        rows = rows_of(
            f"SELECT {c.WINDOW_END}, {number} AS number FROM result "  # noqa: S608 - ours
            f"WHERE {_within_sql(*span)}{keys_sql(level.report.types, only)} GROUP BY 1",
            result=self._table(level),
        )
        return {ms_of(row[c.WINDOW_END]): int(row["number"]) for row in rows}

    def _rows(
        self,
        sql: str,
        runs: Runs,
        columns: Sequence[str],
        only: Only = _EVERY,
        pages: Collection[str] | None = None,
    ) -> list[Row]:
        """Returns the rows of `sql`, in which `_ROWS` is replaced by `columns` of the rows of all runs.

        `only`: rows with these values of keys; `pages`: of these pages.
        """
        if not runs:
            return []
        by_level = dict[WindowLevel, list[str]]()
        for run in runs:
            by_level.setdefault(run.level, []).append(f"({_within_sql(run.start, run.end)})")
        of_pages = ""
        if pages is not None:
            of_pages = f" AND {c.PAGE_URL} IN ({', '.join(map(text_sql, sorted(pages)))})"
        parts = [
            f"SELECT {', '.join(columns)} FROM {_name(level.report.name)} WHERE ({' OR '.join(conditions)})"  # noqa: S608 - ours, and quoted
            f"{keys_sql(level.report.types, only)}{of_pages}"
            for level, conditions in by_level.items()
        ]
        tables = {_name(level.report.name): self._table(level) for level in by_level}
        return rows_of(sql.replace(_ROWS, " UNION ALL ".join(parts)), **tables)

    def _rows_in_files(self, level: WindowLevel, runs: Runs) -> int:
        """Returns the number of rows of files that may have windows of the runs."""
        of_level = [run for run in runs if run.level == level]
        start, end = min(run.start for run in of_level), max(run.end for run in of_level)
        return rows_within(self._table(level), (c.WINDOW_START, moment(start)), (c.WINDOW_END, moment(end)))

    def _table(self, level: WindowLevel) -> DeltaTable:
        table = self.tables.find(level.report.name)
        assert table is not None  # noqa: S101 - a level without a table has no progress
        return table


def _window_of_users(bar: Runs) -> WindowRun | None:
    """Returns the run of a bar that is one window of a report by users; None for other bars."""
    is_one = len(bar) == 1 and len(bar[0].ends) == 1 and {*bar[0].level.report.keys} == {c.USER_ID}
    return bar[0] if is_one else None


def _top(rows: Sequence[Row], totals: Mapping[str, int], number: int) -> Top:
    return Top([(row["key"], {name: int(row[name]) for name in totals}) for row in rows], totals, number)


def _top_visits(rows: Sequence[tuple[str | None, int]], most: int) -> Top:
    """Returns the values with the most visits. None is the value of visits without one, or whose value is unknown."""
    counts = Counter[str | None]()
    for key, number in rows:
        counts[key] += number
    listed = sorted((+counts).items(), key=lambda row: (-row[1], row[0] is None, row[0]))
    totals = {"visits": sum(number for _, number in listed)}
    return Top([(key, {"visits": number}) for key, number in listed[:most]], totals, len(listed))


def _name(report: str) -> str:
    """Returns the name under which a result is registered: a report may be called `order`."""
    return f"of_{report}"


def _plain(key: str) -> str:
    """Returns SQL of a key without its Delta comment, which DataFusion 52 compares between branches of a union."""
    return f"nullif({key}, NULL) AS {key}"


def _within_sql(start: int, end: int) -> str:
    return f"{c.WINDOW_START} >= {time_sql(start)} AND {c.WINDOW_END} <= {time_sql(end)}"


def _began_sql(visits: Visits, span: tuple[int, int], only: Only) -> str:
    start, end = span
    began = f"AND {c.WINDOW_START} >= {time_sql(start)} AND {c.WINDOW_START} < {time_sql(end)}"
    others = {name: value for name, value in only.items() if name != EXIT_PAGE}
    exit_page = f" AND ({_GOING} OR {EXIT_PAGE} = {text_sql(only[EXIT_PAGE])})" if EXIT_PAGE in only else ""
    return f"{began}{keys_sql(visits.report.types, others)}{exit_page}"


def _sums_sql(names: Sequence[str]) -> str:
    return ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in names)


def _values(pairs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"({end * 1000}, {bar})" for end, bar in pairs)
