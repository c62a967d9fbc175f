"""The verb `status`."""

from datetime import timedelta

import click

from tidemark.command_line.types import named
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import POSITIVE_DURATION, settings_in_file, warehouse_option


@click.command(
    cls=Verb,
    examples=[
        "tidemark status --warehouse /data/tidemark",
        "tidemark status --config tidemark.toml --report site_traffic",
        "tidemark status --warehouse /data/tidemark --watch --every 5s",
    ],
)
@warehouse_option
@click.option("--report", type=named("NAME"), help="Report to show; by default page_views, or the first.")
@click.option("--watch", is_flag=True, help="Refresh the status on the full screen until q or Ctrl-C.")
@click.option("--every", type=POSITIVE_DURATION, help="How often --watch reads the tables.  [default: 2s]")
def status(warehouse: str, report: str | None, every: timedelta | None, *, watch: bool) -> None:
    """Shows watermark, partitions, records by verdict and the latest windows; needs no Spark.

    If nothing is committed, --watch asks the service on this host for its health, at `metrics.host` and `metrics.port`
    in the settings file and the environment.
    """
    if watch:
        from tidemark.pipeline.reading.status_watch import watch_status

        watch_status(warehouse, report, every or timedelta(seconds=2), settings_in_file().metrics)
        return
    if every:
        raise click.UsageError("--every sets how often --watch reads the tables: use it with --watch")
    from tidemark.pipeline.reading.service_status import print_status

    print_status(warehouse, report)
