"""The views `site_days` and `site_hours`: a row for each day and hour of a site, with its state. Pure.

Days and hours that have fired are those of their reports. A running one is made of the shorter windows that have fired;
its own window is open, and not counted.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

_MINUTES, _HOURS, _DAYS = "site_by_minute", "site_by_hour", "site_by_day"
_WATERMARK_SQL: Final = "(SELECT max(watermark) FROM ledger WHERE batch = (SELECT max(batch) FROM ledger))"
_VIEW_SQL: Final = """
SELECT window_start, window_end, page_views, clicks, unique_users AS visitors,
  CASE WHEN state IN ('closed', 'corrected') THEN 'final' ELSE 'complete' END AS state, window_end AS covered_until
FROM {whole}_live WHERE state <> 'open'
UNION ALL
SELECT whole.window_start, whole.window_end, CAST(coalesce(sum(part.page_views), 0) AS BIGINT),
  CAST(coalesce(sum(part.clicks), 0) AS BIGINT), NULL, 'so far', date_trunc('MINUTE', {watermark})
FROM {whole}_live AS whole LEFT JOIN ({parts}) AS part
  ON part.window_start >= whole.window_start AND part.window_end <= whole.window_end
WHERE whole.state = 'open' AND whole.window_start < date_trunc('MINUTE', {watermark})
GROUP BY whole.window_start, whole.window_end
"""
_FIRED_SQL: Final = "SELECT window_start, window_end, page_views, clicks FROM {name}_live WHERE state <> 'open'"
_IN_OPEN_HOURS_SQL: Final = """
SELECT fired.window_start, fired.window_end, fired.page_views, fired.clicks
FROM ({minutes}) AS fired JOIN {hours}_live AS running
  ON running.state = 'open' AND fired.window_start >= running.window_start AND fired.window_end <= running.window_end
"""
_COLUMNS: Final[Mapping[str, str]] = {
    "window_start": "Start of the {0}, in UTC.",
    "window_end": "End of the {0}, in UTC.",
    "page_views": "Page views in the time that is covered.",
    "clicks": "Clicks in the time that is covered.",
    "visitors": "Different users (about); null while the {0} is running, because visitors do not add up.",
    "state": "final (closed), complete (a late event may change it), or so far (the {0} is running).",
    "covered_until": "The numbers cover the time before it.",
}


class SiteView(NamedTuple):
    """A view: its name, query, comment, and the comments of its columns."""

    name: str
    query: str
    comment: str
    columns: Mapping[str, str]


def site_views(reports: Collection[str]) -> list[SiteView]:
    """Returns the views of a warehouse with these reports, over its live views and its ledger; empty without `[site]`.

    A day or hour without an event has no row.
    """
    if not {_MINUTES, _HOURS, _DAYS} <= {*reports}:
        return []
    minutes, hours = (_FIRED_SQL.format(name=name) for name in (_MINUTES, _HOURS))
    in_open_hours = _IN_OPEN_HOURS_SQL.format(minutes=minutes, hours=_HOURS)
    parts = {_DAYS: f"{hours} UNION ALL {in_open_hours}", _HOURS: minutes}
    return [
        SiteView(
            f"site_{noun}s",
            _VIEW_SQL.format(whole=whole, parts=parts[whole], watermark=_WATERMARK_SQL),
            f"Page views, clicks and visitors by {noun}, each with its state.",
            {name: comment.format(noun) for name, comment in _COLUMNS.items()},
        )
        for noun, whole in (("day", _DAYS), ("hour", _HOURS))
    ]
