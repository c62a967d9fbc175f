"""How fresh, how far behind, and what became of the records."""

from grafana_foundation_sdk.builders import dashboard

from dev.dashboards.panels import CHOSEN, Query, board, lines, number


def overview() -> dashboard.Dashboard:
    """The first one to look at."""
    made = board("overview", "overview")
    for panel in (
        number("Within a minute", "percentunit", Query(_within_a_minute("5m")), "Is the objective of 99 % held now?"),
        number("Record lag", "short", Query(f"sum by (instance) ({_lag()})"), "How much waits to be read?"),
        number(
            "Unpublished batches", "short", Query(f"tidemark_unpublished_batches{{{CHOSEN}}}"), "Is publication behind?"
        ),
        number(
            "Imbalance",
            "short",
            Query(f"tidemark_unaccounted_records{{{CHOSEN}}}"),
            "Is every record accounted for? Anything but 0 is a defect",
        ),
        number("Epoch", "none", Query(f"tidemark_epoch{{{CHOSEN}}}"), "Who writes the warehouse?"),
        number("Version", "none", Query(f"tidemark_build_info{{{CHOSEN}}}", "{{version}}"), "Which version runs?"),
    ):
        made = made.with_panel(panel)
    for chart in (
        lines(
            "Freshness",
            "s",
            *(Query(_quantile(quantile), f"{{{{instance}}}} {quantile:.0%}") for quantile in (0.5, 0.95, 0.99)),
            asks="How old is a record when it counts?",
        ),
        lines(
            "Watermark lag by partition",
            "s",
            Query(f"partition:tidemark_watermark_lag:seconds{{{CHOSEN}}}", "{{instance}} {{partition}}"),
            Query(f"tidemark_bound_seconds{{{CHOSEN}}}", "{{instance}} bound"),
            asks="Which partition holds the watermark? Idle ones do not, and are left out",
        ),
        lines("Record lag by partition", "short", Query(_lag(), "{{instance}} {{partition}}"), asks="What waits?"),
        lines(
            "Records by verdict",
            "cps",
            Query(_rate("tidemark_records_total"), "{{verdict}}"),
            asks="What becomes of them?",
        ),
        lines(
            "Dead letters by reason",
            "cps",
            Query(_rate("tidemark_dead_letters_total"), "{{reason}}"),
            asks="Why rejected?",
        ),
        lines(
            "Windows",
            "cps",
            Query(_rate("tidemark_windows_total"), "{{report}} {{event}}"),
            asks="Do windows fire, and how often are they fired again?",
        ),
        lines(
            "Open windows",
            "short",
            Query(f"tidemark_open_windows{{{CHOSEN}}}", "{{instance}} {{report}}"),
            asks="How many may still change?",
        ),
        lines(
            "Failures",
            "short",
            Query(f"increase(tidemark_failures_total{{{CHOSEN}}}[5m])", "{{instance}} {{kind}}"),
            asks="What makes the service start again?",
        ),
    ):
        made = made.with_panel(chart)
    return made


def _within_a_minute(window: str) -> str:
    bucket = f'tidemark_freshness_seconds_bucket{{{CHOSEN}, le="60.0"}}'
    total = f"tidemark_freshness_seconds_count{{{CHOSEN}}}"
    return f"sum by (instance) (rate({bucket}[{window}])) / sum by (instance) (rate({total}[{window}]))"


def _quantile(quantile: float) -> str:
    buckets = f"rate(tidemark_freshness_seconds_bucket{{{CHOSEN}}}[$__rate_interval])"
    return f"histogram_quantile({quantile}, sum by (instance, le) ({buckets}))"


def _lag() -> str:
    return f"tidemark_partition_lag_records{{{CHOSEN}}}"


def _rate(name: str) -> str:
    return f"rate({name}{{{CHOSEN}}}[$__rate_interval])"
