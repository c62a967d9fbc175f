"""The views `site_days` and `site_hours`: a row for each day and hour of a site, with its state. Pure.

Days and hours that have fired are those of their reports. A running one is made of the shorter windows that have fired;
its own window is open, and not counted.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tidemark.pipeline.tables.engines import Engine

_MINUTES, _HOURS, _DAYS = "site_by_minute", "site_by_hour", "site_by_day"
STARTS: Final = (_MINUTES, _HOURS)
"""The reports that show when the first event of all was, as long as they have all of their rows."""
_WATERMARK_SQL: Final = "(SELECT max(watermark) FROM ledger WHERE batch = (SELECT max(batch) FROM ledger))"
_FIRST_SQL: Final = "(SELECT min(window_start) FROM {name})"
_VIEW_SQL: Final = """
SELECT window_start, window_end, page_views, clicks, unique_users AS visitors,
  CASE WHEN state IN ('closed', 'corrected') THEN 'final' ELSE 'complete' END AS state, window_end AS covered_until
FROM {whole}_live WHERE state <> 'open'
UNION ALL
SELECT whole.window_start, whole.window_end,
  CASE WHEN {lost} THEN NULL ELSE CAST(coalesce(sum(part.page_views), 0) AS BIGINT) END,
  CASE WHEN {lost} THEN NULL ELSE CAST(coalesce(sum(part.clicks), 0) AS BIGINT) END,
  NULL, 'so far', date_trunc('MINUTE', {watermark})
FROM {whole}_live AS whole LEFT JOIN ({parts}) AS part
  ON part.window_start >= whole.window_start AND part.window_end <= whole.window_end
WHERE whole.state = 'open' AND whole.window_start < date_trunc('MINUTE', {watermark})
GROUP BY whole.window_start, whole.window_end
"""
_OPEN_HOUR_SQL: Final = f"(SELECT min(window_start) FROM {_HOURS}_live WHERE state = 'open')"  # noqa: S608 - ours
_FIRED_SQL: Final = "SELECT window_start, window_end, page_views, clicks FROM {name}_live WHERE state <> 'open'"
_IN_OPEN_HOURS_SQL: Final = """
SELECT fired.window_start, fired.window_end, fired.page_views, fired.clicks
FROM ({minutes}) AS fired JOIN {hours}_live AS running
  ON running.state = 'open' AND fired.window_start >= running.window_start AND fired.window_end <= running.window_end
"""
_COLUMNS_SQL: Final = """
SELECT window_start, window_end, CASE WHEN {known} THEN page_views END AS page_views,
  CASE WHEN {known} THEN clicks END AS clicks, CASE WHEN {known} THEN visitors END AS visitors,
  CASE WHEN NOT ({known}) THEN 'unknown' WHEN {starts_within} AND state <> 'so far' THEN 'partial' ELSE state END
    AS state,
  CASE WHEN NOT ({known}) THEN NULL WHEN {starts_within} THEN {first} ELSE window_start END AS covered_from,
  CASE WHEN {known} THEN covered_until END AS covered_until
FROM ({query}) AS every
"""
"""Events before the reports were added are not in them: a day or hour that starts earlier is unknown.

So is a running one of whose shorter windows some were removed by age.
Of a day or hour in which the site's first event is, only the time since that event is known.
"""
_COLUMNS: Final[Mapping[str, str]] = {
    "window_start": "Start of the {0}, in UTC.",
    "window_end": "End of the {0}, in UTC.",
    "page_views": "Page views in the time that is covered.",
    "clicks": "Clicks in the time that is covered.",
    "visitors": "Different users (about); null while the {0} is running, because visitors do not add up.",
    "state": "final (closed), complete (a late event may change it), so far (the {0} is running), partial (it has the "
    "first event of all), or unknown (the reports were added later, or some of the shorter windows of the running {0} "
    "were removed by age).",
    "covered_from": "The numbers cover the time from it on.",
    "covered_until": "The numbers cover the time before it.",
}


class SiteView(NamedTuple):
    """A view: its name, query, comment, and the comments of its columns."""

    name: str
    query: str
    comment: str
    columns: Mapping[str, str]


def site_views(since: Mapping[str, int], removed: Mapping[str, int], engine: Engine) -> list[SiteView]:
    """Returns the views of a warehouse, over its tables, live views and ledger; empty without `[site]`.

    `since` has the reports of the service, and the time (ms) since which each counts every event; `removed` has those
    of `STARTS` of which rows were removed by age, and the end (ms) of the last such row. A day or hour without an event
    has no row.
    """
    if not {_MINUTES, _HOURS, _DAYS} <= since.keys():
        return []
    added = max(since[name] for name in (_MINUTES, _HOURS, _DAYS))
    whole = [name for name in STARTS if name not in removed and not added]
    first = _FIRST_SQL.format(name=whole[0]) if whole else "NULL"
    starts_within = f"window_start < {first} AND window_end > {first}" if whole else "1 = 0"
    known = "page_views IS NOT NULL" + (f" AND window_start >= {engine.time(str(added))}" if added else "")
    minutes, hours = (_FIRED_SQL.format(name=name) for name in (_MINUTES, _HOURS))
    in_open_hours = _IN_OPEN_HOURS_SQL.format(minutes=minutes, hours=_HOURS)
    parts = {_DAYS: f"{hours} UNION ALL {in_open_hours}", _HOURS: minutes}
    starts = {_DAYS: {_HOURS: "whole.window_start", _MINUTES: _OPEN_HOUR_SQL}, _HOURS: {_MINUTES: "whole.window_start"}}
    lost = {
        whole: " OR ".join(
            f"{start} < {engine.time(str(removed[name]))}" for name, start in of_parts.items() if name in removed
        )
        for whole, of_parts in starts.items()
    }
    queries = {
        noun: _VIEW_SQL.format(whole=whole, parts=parts[whole], lost=lost[whole] or "1 = 0", watermark=_WATERMARK_SQL)
        for noun, whole in (("day", _DAYS), ("hour", _HOURS))
    }
    return [
        SiteView(
            f"site_{noun}s",
            _COLUMNS_SQL.format(known=known, starts_within=starts_within, first=first, query=query),
            f"Page views, clicks and visitors by {noun}, each with its state.",
            {name: comment.format(noun) for name, comment in _COLUMNS.items()},
        )
        for noun, query in queries.items()
    ]
