"""Tables and state: what there is on disk and in memory."""

from grafana_foundation_sdk.builders import dashboard, timeseries

from dev.dashboards.panels import Query, board, lines, of, rate


def tables() -> dashboard.Dashboard:
    """Returns the dashboard of sizes and of their growth."""
    return board("tables and state", "tables", *_disk(), *_process())


def _disk() -> list[timeseries.Panel]:
    return [
        _by_table("Rows", "short", "rows", "How large is each table? Of panes: how much state is held"),
        _by_table("Size", "bytes", "bytes", "Which table takes the space?"),
        _by_table("Files", "short", "files", "Does upkeep keep the number of files small?"),
        lines(
            "Bytes written",
            "Bps",
            Query(rate("tidemark_table_written_bytes_total"), "{{instance}} {{table}} {{purpose}}"),
            asks="What is written again and again?",
        ),
        lines(
            "Free disk",
            "bytes",
            Query(of("tidemark_warehouse_free_bytes"), "{{instance}} free"),
            Query(of("tidemark_warehouse_size_bytes"), "{{instance}} in all"),
            asks="When is the disk full?",
        ),
    ]


def _process() -> list[timeseries.Panel]:
    return [
        lines(
            "Open windows",
            "short",
            Query(of("tidemark_open_windows"), "{{instance}} {{report}}"),
            asks="How many windows are not closed?",
        ),
        lines(
            "Upkeep refused",
            "short",
            Query(f"increase({of('tidemark_upkeep_failures_total')}[1h])"),
            asks="Does the store refuse merges and cleaning?",
        ),
        lines(
            "Memory",
            "bytes",
            Query(of("process_resident_memory_bytes"), "{{instance}} Python"),
            Query(of("tidemark_java_process_resident_memory_bytes"), "{{instance}} Java"),
            asks="Does memory grow?",
        ),
        lines(
            "CPU",
            "short",
            Query(rate("process_cpu_seconds_total"), "{{instance}} Python"),
            Query(rate("tidemark_java_process_cpu_seconds_total"), "{{instance}} Java"),
            asks="How many cores does it take?",
        ),
    ]


def _by_table(title: str, unit: str, what: str, asks: str) -> timeseries.Panel:
    return lines(title, unit, Query(of(f"tidemark_table_{what}"), "{{instance}} {{table}}"), asks=asks)
