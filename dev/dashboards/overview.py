"""The dashboard with freshness, lag and verdicts of records."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, stat, timeseries

from dev.dashboards.panels import Query, board, line_panel, quantile, rate, series, stat_panel

_FRESHNESS: Final = "tidemark_freshness_seconds"
_DAY_S: Final = 86_400
_LAG: Final = "tidemark_partition_lag_records"


def overview() -> dashboard.Dashboard:
    """Returns the dashboard to look at first."""
    return board("overview", "overview", *_health(), *_identity(), *_progress(), *_topic(), *_counts())


def _health() -> list[stat.Panel]:
    return [
        stat_panel(
            "Within a minute",
            "percentunit",
            Query(_within_a_minute()),
            "Is the objective of 99 % held now?",
            ((None, "red"), (0.856, "orange"), (0.99, "green")),
            "TidemarkFreshnessBurnFast",
        ),
        stat_panel(
            "Oldest waiting record",
            "s",
            Query(series("tidemark_oldest_unprocessed_age_seconds")),
            "How long does a record wait? Red: not ready",
            ((None, "green"), (60, "orange"), (300, "red")),
            "TidemarkNoCommit",
        ),
        stat_panel(
            "Watermark lag beyond the bound",
            "s",
            Query(f"{series('tidemark_watermark_lag_seconds')} - {series('tidemark_bound_seconds')}"),
            "How late are results? Below 0 a clock is ahead",
            ((None, "orange"), (-1, "green"), (300, "orange"), (600, "red")),
            "TidemarkWatermarkLag",
        ),
        stat_panel(
            "Imbalance",
            "short",
            Query(series("tidemark_unaccounted_records")),
            "Is every record accounted for? Any value but 0 is a defect",
            ((None, "green"), (1, "red")),
            "TidemarkRecordsUnaccounted",
        ),
    ]


def _identity() -> list[stat.Panel]:
    return [
        stat_panel("Record lag", "short", Query(f"sum by (instance) ({series(_LAG)})"), "How much waits to be read?"),
        stat_panel(
            "Certificates end in",
            "s",
            Query(f"{series('tidemark_certificate_end_timestamp_seconds')} - time()", "{{instance}} {{use}}"),
            "When does a certificate have to be renewed?",
            ((None, "red"), (3 * _DAY_S, "orange"), (21 * _DAY_S, "green")),
            "TidemarkCertificateEnds",
        ),
        stat_panel("Epoch", "none", Query(series("tidemark_epoch")), "Who writes the warehouse?"),
        stat_panel("Version", "none", Query(series("tidemark_build_info"), "{{version}}"), "Which version runs?"),
    ]


def _progress() -> list[timeseries.Panel]:
    return [
        line_panel(
            "Freshness",
            "s",
            *(
                Query(quantile(share, _FRESHNESS, by="instance, le"), f"{{{{instance}}}} {share:.0%}")
                for share in (0.5, 0.95, 0.99)
            ),
            question="How old is a record when it is committed?",
        ),
        line_panel(
            "Watermark lag by partition",
            "s",
            Query(series("partition:tidemark_watermark_lag:seconds"), "{{instance}} {{partition}}"),
            Query(series("tidemark_bound_seconds"), "{{instance}} bound"),
            question="Which partition holds the watermark back? Idle partitions do not, and are omitted",
            alert="TidemarkPartitionStuck",
        ),
        line_panel(
            "Record lag by partition",
            "short",
            Query(series(_LAG), "{{instance}} {{partition}}"),
            Query(
                series("tidemark_partition_held_back_records"), "{{instance}} {{partition}} held back by a transaction"
            ),
            question="What waits?",
            alert="TidemarkRecordLagGrowing",
        ),
    ]


def _topic() -> list[timeseries.Panel]:
    return [
        line_panel(
            "Records that arrive",
            "cps",
            Query(rate("tidemark_partition_log_end_offset"), "{{instance}} {{partition}}"),
            question="Does each partition receive records?",
            alert="TidemarkTopicSilent",
        ),
        line_panel(
            "Unread share of the retained records",
            "percentunit",
            Query(series("partition:tidemark_unread:share"), "{{instance}} {{partition}}"),
            question="Does retention overtake the service? At 100 % the next deletion is a loss",
            alert="TidemarkRetentionNear",
        ),
        line_panel(
            "Time to loss",
            "s",
            Query(series("partition:tidemark_loss:seconds"), "{{instance}} {{partition}}"),
            question="If nothing were read from now on: when is the first record lost?",
            alert="TidemarkRetentionNear",
        ),
    ]


def _counts() -> list[timeseries.Panel]:
    return [
        line_panel(
            "Records by verdict",
            "cps",
            Query(rate("tidemark_records_total"), "{{verdict}}"),
            question="How many records are counted, how many rejected?",
        ),
        line_panel(
            "Dead letters by reason",
            "cps",
            Query(rate("tidemark_dead_letters_total"), "{{reason}}"),
            question="Why are records rejected?",
            alert="TidemarkMostRejected",
        ),
        line_panel(
            "Windows",
            "cps",
            Query(rate("tidemark_windows_total"), "{{report}} {{event}}"),
            question="Do windows fire, and how often do they refire?",
        ),
        line_panel(
            "Open windows",
            "short",
            Query(series("tidemark_open_windows"), "{{instance}} {{report}}"),
            question="How many windows may still change?",
        ),
        line_panel(
            "Failures",
            "short",
            Query(f"increase({series('tidemark_failures_total')}[5m])", "{{instance}} {{kind}}"),
            Query(f"increase({series('tidemark_attempts_total')}[5m])", "{{instance}} attempts"),
            question="Why does the service restart?",
            alert="TidemarkFailing",
        ),
    ]


def _within_a_minute() -> str:
    fresh = rate(f"{_FRESHNESS}_bucket", 'le="60.0"', over="5m")
    total = rate(f"{_FRESHNESS}_count", over="5m")
    return f"sum by (instance) ({fresh}) / sum by (instance) ({total})"
