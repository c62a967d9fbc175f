"""Names that a column of a report cannot have, because SQL names columns without quotes."""

import re
from typing import Final

_OF_SQL: Final = frozenset(
    [
        *("all", "analyse", "analyze", "and", "anti", "any", "array", "as", "asc", "asof", "asymmetric", "at"),
        *("authorization", "binary", "both", "by", "case", "cast", "check", "cluster", "collate"),
        *("collation", "column", "concurrently", "constraint", "create", "cross", "cube"),
        *("current_date", "current_time", "current_timestamp", "default", "deferrable", "desc"),
        *("describe", "distinct", "distribute", "do", "else", "end", "except", "exclude", "exists"),
        *("explain", "false", "fetch", "for", "foreign", "freeze", "from", "full", "glob", "group", "having"),
        *("ilike", "in", "initially", "inner", "intersect", "interval", "into", "is", "isnull", "join"),
        *("lambda", "lateral", "leading", "left", "like", "limit", "minus", "natural", "not", "notnull"),
        *("null", "offset", "on", "only", "or", "order", "outer", "overlaps", "pivot", "pivot_longer"),
        *("pivot_wider", "placing", "positional", "primary", "qualify", "references", "returning"),
        *("right", "rollup", "select", "semi", "setminus", "show", "similar", "some", "sort", "struct"),
        *("summarize", "symmetric", "table", "tablesample", "then", "to", "top", "trailing", "trim", "true"),
        *("union", "unique", "unpack", "unpivot", "using", "values", "variadic", "verbose", "view", "when"),
        *("where", "window", "with"),
    ]
)
"""Words that DuckDB or DataFusion does not read as the name of a column."""
_OF_OURS: Final = frozenset(
    [
        *("a", "above", "actual", "actual_clicks", "actual_page_views", "actual_rows", "added"),
        *("all_parts", "b", "back", "batch", "begun", "bounced", "bucket", "cells", "checked", "clicks", "closed"),
        *("closed_until", "committed_at", "corrected", "corrected_at", "correction"),
        *("corrections", "counted", "counted_user", "dead", "dead_letters", "distinct_panes", "done"),
        *("done_end", "done_start", "due", "duration_ms", "edge_ms", "edges", "empty", "end_ms", "ending", "erased"),
        *("erasures", "event_count", "event_number", "event_time", "event_type", "events"),
        *("events_of_key", "events_of_window", "expected", "expected_clicks"),
        *("expected_page_views", "expected_rows", "expected_waits", "few", "fired_by"),
        *("first_end", "first_event_ms", "first_seen", "first_seen_ms", "first_time", "firsts", "found", "from_ms"),
        *("gone", "has", "has_panes", "joined", "joins_after", "key", "keyed", "last", "last_events"),
        *("last_event_ms", "last_number", "last_page", "last_page_url", "last_seen", "last_seen_ms", "last_time"),
        *("late_events", "later", "latest", "ledger", "length", "max_event_time", "merged"),
        *("most_clicks", "most_page_views", "n", "newest", "now", "number", "number_of_key", "numbered"),
        *("open", "own_batch", "page_url", "page_views", "pane", "pane_start", "panes", "partition"),
        *("partly_late", "parts", "placed", "position", "published", "published_batch", "reach"),
        *("reached", "reason", "record_position", "report", "result", "rows", "session", "sessions"),
        *("sessions_begun", "since", "sketch", "sketches", "so_far", "spans", "spread", "start_ms"),
        *("state", "step", "steps", "stored", "sums", "swept", "to_ms", "to_offset", "topic", "totals"),
        *("unique_users", "until", "until_ms", "user_id", "user_totals", "users", "users_sketch"),
        *("waits", "watermark", "window_end", "window_end_ms", "window_start", "window_start_ms"),
        *("windowed", "windows", "windows_of_panes", "wrong"),
    ]
)
"""The other columns of the tables, and names in the SQL that makes, verifies and reads results."""


def is_reserved(name: str) -> bool:
    """Returns whether the SQL over results would misread a column of this name."""
    return name in _OF_SQL or name in _OF_OURS or re.fullmatch(r"(dimension|number|sketch|text)_\d+", name) is not None
