"""Queries for polars that answer questions of docs/queries.md, and further queries in SQL and for polars."""

from typing import Final

POLARS: Final = {
    "From where do events come too late?": """
answer = (
    table("dead_letters")
    .join(table("ledger").select("batch").unique(), on="batch", how="semi")
    .filter(pl.col("reason").is_in(["too_late", "partly_late"]))
    .group_by("user_id")
    .agg(late=pl.len().cast(pl.Int64), by_minutes=pl.col("watermark").max() - pl.col("event_time").min() > 60_000)
    .sort(["late", "user_id"], descending=[True, False])
)
""",
    "What has changed since yesterday?": """
from datetime import UTC, datetime, timedelta

yesterday = datetime.now(UTC) - timedelta(days=1)
before = (
    table("ledger").filter(utc("committed_at") < yesterday).select(pl.col("batch").max().fill_null(0)).collect().item()
)
corrected = (
    table("corrections")
    .filter(pl.col("report") == "page_views", utc("corrected_at") >= yesterday)
    .select("user_id", window_start=utc("window_start_ms"))
)
fired = table("page_views").filter(pl.col("published_batch") > before).select("user_id", "window_start")
answer = (
    table("page_views")
    .join(pl.concat([fired, corrected]).unique(), on=["user_id", "window_start"], how="semi")
    .select("window_start", "user_id", "page_views", "clicks", "late_events")
    .sort("window_start", "user_id")
)
""",
    "What is final?": """
allowed_lateness = timedelta(minutes=1)
watermark = table("ledger").select(utc("watermark").max()).collect().item()
answer = (
    table("page_views")
    .filter(pl.col("window_end") <= watermark - allowed_lateness)
    .select("window_start", "user_id", "page_views", "clicks")
    .sort("window_start", "user_id")
)
""",
}
"""By question: the same query as the last block of SQL on the page, which has no block of Python after it."""
MORE: Final = {
    "Which pages are seen most?": (
        """
SELECT page_url, CAST(sum(page_views) AS BIGINT) AS views, CAST(sum(clicks) AS BIGINT) AS clicks
FROM page_traffic GROUP BY page_url ORDER BY views DESC, page_url LIMIT 10
""",
        """
answer = (
    table("page_traffic")
    .group_by("page_url")
    .agg(views=pl.col("page_views").sum(), clicks=pl.col("clicks").sum())
    .sort(["views", "page_url"], descending=[True, False])
    .head(10)
)
""",
    ),
    "Which way did a user take?": (
        """
SELECT first_seen, page_url, page_views, clicks FROM paths WHERE user_id = 'ann' ORDER BY first_seen, page_url
""",
        """
answer = (
    table("paths")
    .filter(pl.col("user_id") == "ann")
    .select("first_seen", "page_url", "page_views", "clicks")
    .sort("first_seen", "page_url")
)
""",
    ),
}
