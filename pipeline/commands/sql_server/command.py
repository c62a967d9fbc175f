"""The verb `sql-server`."""

import click

from command_line.verbs import Verb
from pipeline.commands.options import warehouse_option


@click.command(
    cls=Verb,
    examples=[
        "tidemark sql-server --warehouse /data/tidemark",
        "tidemark sql-server --warehouse /data/tidemark --host 0.0.0.0 --port 10001 --memory 4g",
    ],
)
@warehouse_option
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=10000, show_default=True, help="Port to listen on.")
@click.option("--memory", default="2g", show_default=True, metavar="SIZE", help="Heap of its Java process.")
def sql_server(warehouse: str, host: str, port: int, memory: str) -> None:
    """Serves the views of `tidemark sql` to BI tools, in the protocol of HiveServer2, until SIGTERM or Ctrl-C.

    It asks nobody who they are: let only those reach it who may read, and run it as a user who may only read.
    """
    from pipeline.commands.sql_server.server import serve_sql

    serve_sql(warehouse, host, port, memory)
