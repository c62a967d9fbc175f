"""The verb `live`."""

import click

from command_line.types import named
from command_line.verbs import Verb
from pipeline.commands.options import warehouse_option


@click.command(
    cls=Verb,
    examples=[
        "tidemark live --warehouse /data/tidemark",
        "tidemark live --warehouse /data/tidemark --report site_traffic --engine duckdb",
    ],
)
@warehouse_option
@click.option("--report", default="page_views", show_default=True, type=named("NAME"), help="Of which report.")
@click.option(
    "--engine",
    type=click.Choice(["spark", "duckdb", "delta-rs"]),
    default="spark",
    show_default=True,
    help="In whose SQL.",
)
def live(warehouse: str, report: str, engine: str) -> None:
    """Prints the SQL of a view that adds a report's open windows so far to the published ones, with their state.

    Of delta-rs, which has no views, it prints the query alone.
    """
    from pipeline.reading.live_statement import statement

    click.echo(statement(warehouse, report, engine))
