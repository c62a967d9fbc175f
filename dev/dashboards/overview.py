"""How fresh, how far behind, and what became of the records."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, stat, timeseries

from dev.dashboards.panels import Query, board, lines, number, of, quantile, rate

_FRESHNESS: Final = "tidemark_freshness_seconds"
_LAG: Final = "tidemark_partition_lag_records"


def overview() -> dashboard.Dashboard:
    """Returns the dashboard to look at first."""
    return board("overview", "overview", *_health(), *_progress(), *_counts())


def _health() -> list[stat.Panel]:
    return [
        number("Within a minute", "percentunit", Query(_within_a_minute()), "Is the objective of 99 % held now?"),
        number("Record lag", "short", Query(f"sum by (instance) ({of(_LAG)})"), "How much waits to be read?"),
        number("Unpublished batches", "short", Query(of("tidemark_unpublished_batches")), "Is publication behind?"),
        number(
            "Imbalance",
            "short",
            Query(of("tidemark_unaccounted_records")),
            "Is every record accounted for? Anything but 0 is a defect",
        ),
        number("Epoch", "none", Query(of("tidemark_epoch")), "Who writes the warehouse?"),
        number("Version", "none", Query(of("tidemark_build_info"), "{{version}}"), "Which version runs?"),
    ]


def _progress() -> list[timeseries.Panel]:
    return [
        lines(
            "Freshness",
            "s",
            *(
                Query(quantile(share, _FRESHNESS, by="instance, le"), f"{{{{instance}}}} {share:.0%}")
                for share in (0.5, 0.95, 0.99)
            ),
            asks="How old is a record when it counts?",
        ),
        lines(
            "Watermark lag by partition",
            "s",
            Query(of("partition:tidemark_watermark_lag:seconds"), "{{instance}} {{partition}}"),
            Query(of("tidemark_bound_seconds"), "{{instance}} bound"),
            asks="Which partition holds the watermark? Idle ones do not, and are left out",
        ),
        lines("Record lag by partition", "short", Query(of(_LAG), "{{instance}} {{partition}}"), asks="What waits?"),
    ]


def _counts() -> list[timeseries.Panel]:
    return [
        lines(
            "Records by verdict",
            "cps",
            Query(rate("tidemark_records_total"), "{{verdict}}"),
            asks="What becomes of them?",
        ),
        lines(
            "Dead letters by reason",
            "cps",
            Query(rate("tidemark_dead_letters_total"), "{{reason}}"),
            asks="Why rejected?",
        ),
        lines(
            "Windows",
            "cps",
            Query(rate("tidemark_windows_total"), "{{report}} {{event}}"),
            asks="Do windows fire, and how often are they fired again?",
        ),
        lines(
            "Open windows",
            "short",
            Query(of("tidemark_open_windows"), "{{instance}} {{report}}"),
            asks="How many may still change?",
        ),
        lines(
            "Failures",
            "short",
            Query(f"increase({of('tidemark_failures_total')}[5m])", "{{instance}} {{kind}}"),
            asks="What makes the service start again?",
        ),
    ]


def _within_a_minute() -> str:
    fresh = rate(f"{_FRESHNESS}_bucket", 'le="60.0"', over="5m")
    every = rate(f"{_FRESHNESS}_count", over="5m")
    return f"sum by (instance) ({fresh}) / sum by (instance) ({every})"
