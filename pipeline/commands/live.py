"""The verb `live`."""

import click

from tidemark.command_line.types import named
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import warehouse_option


@click.command(
    cls=Verb,
    examples=[
        "tidemark live --warehouse /data/tidemark",
        "tidemark live --warehouse /data/tidemark --report site_traffic --engine duckdb",
    ],
)
@warehouse_option
@click.option("--report", default="page_views", show_default=True, type=named("NAME"), help="Report of the view.")
@click.option(
    "--engine",
    type=click.Choice(["spark", "duckdb", "delta-rs"]),
    default="spark",
    show_default=True,
    help="SQL dialect.",
)
def live(warehouse: str, report: str, engine: str) -> None:
    """Prints the SQL of a view with the published and the open windows of a report, and the state of each.

    For delta-rs, which has no views, it prints only the query.
    """
    from tidemark.pipeline.reading.sql_views import live_view_sql
    from tidemark.pipeline.tables.engines import Engine

    click.echo(live_view_sql(warehouse, report, Engine(engine)))
