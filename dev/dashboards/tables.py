"""The dashboard with the sizes of tables, disk and memory."""

from grafana_foundation_sdk.builders import dashboard, timeseries

from dev.dashboards.panels import Query, board, line_panel, rate, series


def tables() -> dashboard.Dashboard:
    """Returns the dashboard of sizes and of their growth."""
    return board("tables and state", "tables", *_disk(), *_process())


def _disk() -> list[timeseries.Panel]:
    return [
        _by_table("Rows", "short", "rows", "How large is each table? Of panes: how much state is held"),
        _by_table("Size", "bytes", "bytes", "Which table takes the space?"),
        _by_table("Files", "short", "files", "Does upkeep keep the number of files small?"),
        line_panel(
            "Bytes written",
            "Bps",
            Query(rate("tidemark_table_written_bytes_total"), "{{instance}} {{table}} {{purpose}}"),
            Query(rate("tidemark_table_replaced_bytes_total"), "{{instance}} {{table}} {{purpose}} replaced"),
            question="Which tables are written how much, for what, and how much of it replaces older files?",
        ),
        line_panel(
            "Free disk",
            "bytes",
            Query(series("tidemark_warehouse_free_bytes"), "{{instance}} free"),
            Query(series("tidemark_warehouse_size_bytes"), "{{instance}} in all"),
            question="When will the disk be full?",
            alert="TidemarkDiskFilling",
        ),
    ]


def _process() -> list[timeseries.Panel]:
    return [
        line_panel(
            "Open windows",
            "short",
            Query(series("tidemark_open_windows"), "{{instance}} {{report}}"),
            question="How many windows are not closed?",
        ),
        line_panel(
            "Maintenance failures",
            "short",
            Query(f"increase({series('tidemark_upkeep_failures_total')}[1h])"),
            question="Does the store refuse merges and clean-ups?",
        ),
        line_panel(
            "Memory",
            "bytes",
            Query(series("process_resident_memory_bytes"), "{{instance}} Python"),
            Query(series("tidemark_java_process_resident_memory_bytes"), "{{instance}} Java"),
            question="Does memory grow?",
        ),
        line_panel(
            "CPU",
            "short",
            Query(rate("process_cpu_seconds_total"), "{{instance}} Python"),
            Query(rate("tidemark_java_process_cpu_seconds_total"), "{{instance}} Java"),
            question="How many cores does the service use?",
        ),
        line_panel(
            "Open files",
            "percentunit",
            Query(f"{series('process_open_fds')} / {series('process_max_fds')}", "{{instance}} Python"),
            Query(
                f"{series('tidemark_java_process_open_fds')} / {series('tidemark_java_process_max_fds')}",
                "{{instance}} Java",
            ),
            question="Does the service leak files or sockets?",
        ),
    ]


def _by_table(title: str, unit: str, metric: str, question: str) -> timeseries.Panel:
    query = Query(series(f"tidemark_table_{metric}"), "{{instance}} {{table}}")
    return line_panel(title, unit, query, question=question)
