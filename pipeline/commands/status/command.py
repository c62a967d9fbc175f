"""The verb `status`."""

import click

from command_line.verbs import Verb
from pipeline.commands.options import warehouse_option


@click.command(
    cls=Verb,
    examples=[
        "tidemark status --warehouse /data/tidemark",
        "tidemark status --config tidemark.toml --report site_traffic",
    ],
)
@warehouse_option
@click.option("--report", metavar="NAME", help="Whose latest windows to show; by default page_views, or the first.")
def status(warehouse: str, report: str | None) -> int:
    """Shows what the tables say: watermark, partitions, records by verdict and the latest windows; needs no Spark."""
    from pipeline.commands.status.status import print_status

    print_status(warehouse, report)
    return 0
