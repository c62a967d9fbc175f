"""Tables and state: what there is on disk and in memory."""

from grafana_foundation_sdk.builders import dashboard, timeseries

from dev.dashboards.panels import CHOSEN, Query, board, lines


def tables() -> dashboard.Dashboard:
    """How large everything is, and whether it stays so."""
    made = board("tables and state", "tables")
    for chart in (
        _by_table("Rows", "short", "rows", "How large is each table? Of panes: how much state is held"),
        _by_table("Size", "bytes", "bytes", "Which table takes the space?"),
        _by_table("Files", "short", "files", "Does upkeep keep the number of files small?"),
        lines(
            "Free disk",
            "bytes",
            Query(f"tidemark_warehouse_free_bytes{{{CHOSEN}}}", "{{instance}} free"),
            Query(f"tidemark_warehouse_size_bytes{{{CHOSEN}}}", "{{instance}} in all"),
            asks="When is the disk full?",
        ),
        lines(
            "Open windows",
            "short",
            Query(f"tidemark_open_windows{{{CHOSEN}}}", "{{instance}} {{report}}"),
            asks="How many windows are not closed?",
        ),
        lines(
            "Upkeep refused",
            "short",
            Query(f"increase(tidemark_upkeep_failures_total{{{CHOSEN}}}[1h])"),
            asks="Does the store refuse merges and cleaning?",
        ),
        lines(
            "Memory",
            "bytes",
            Query(f"process_resident_memory_bytes{{{CHOSEN}}}", "{{instance}} Python"),
            Query(f"tidemark_java_process_resident_memory_bytes{{{CHOSEN}}}", "{{instance}} Java"),
            asks="Does memory grow?",
        ),
        lines(
            "CPU",
            "short",
            Query(f"rate(process_cpu_seconds_total{{{CHOSEN}}}[$__rate_interval])", "{{instance}} Python"),
            Query(f"rate(tidemark_java_process_cpu_seconds_total{{{CHOSEN}}}[$__rate_interval])", "{{instance}} Java"),
            asks="How many cores does it take?",
        ),
    ):
        made = made.with_panel(chart)
    return made


def _by_table(title: str, unit: str, what: str, asks: str) -> timeseries.Panel:
    return lines(title, unit, Query(f"tidemark_table_{what}{{{CHOSEN}}}", "{{instance}} {{table}}"), asks=asks)
