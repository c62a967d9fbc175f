"""The verb `sql`."""

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import warehouse_option


@click.command(
    cls=Verb,
    examples=[
        "tidemark sql --warehouse /data/tidemark",
        'tidemark sql --warehouse /data/tidemark "SELECT * FROM page_traffic ORDER BY page_views DESC LIMIT 10"',
        'tidemark sql --warehouse /data/tidemark --format csv "FROM site_traffic_live"',
        "tidemark sql --warehouse /data/tidemark --print spark",
    ],
)
@click.argument("statement", required=False)
@warehouse_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Output format of rows.",
)
@click.option(
    "--print",
    "engine",
    type=click.Choice(["duckdb", "spark"]),
    help="Print the statements that create the views, for a session of your own, and exit.",
)
def sql(warehouse: str, statement: str | None, form: str, engine: str | None) -> int:
    """Opens DuckDB with a view of each table, or runs STATEMENT. Times are timestamps.

    Each report NAME also has the view NAME_live, which includes open windows. The command only reads, and may run while
    the service runs.
    """
    from tidemark.pipeline.reading.sql_shell import run_shell, views_sql
    from tidemark.pipeline.tables.engines import Engine

    if engine:
        click.echo(views_sql(warehouse, Engine(engine)), nl=False)
        return 0
    return run_shell(warehouse, statement, form)
