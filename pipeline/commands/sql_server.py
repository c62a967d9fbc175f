"""The verb `sql-server`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import warehouse_option

if TYPE_CHECKING:
    from tidemark.pipeline.sql_server.login import Access


@click.command(
    cls=Verb,
    examples=[
        "tidemark sql-server --warehouse /data/tidemark",
        "tidemark sql-server --warehouse s3://tidemark/warehouse --memory 4g",
        "tidemark sql-server --warehouse /data/tidemark --host 0.0.0.0 --password-file /run/secrets/sql",
    ],
)
@warehouse_option
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=10000, show_default=True, help="Port; 0 takes a free port."
)
@click.option("--memory", default="2g", show_default=True, metavar="SIZE", help="Memory that all queries may use.")
@click.option("--user", default="tidemark", show_default=True, metavar="NAME", help="User who may log in.")
@click.option(
    "--password-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the user's password, or set TIDEMARK_SQL_PASSWORD. Any but a local address needs a password.",
)
@click.option(
    "--tls",
    type=click.Path(path_type=Path),
    nargs=2,
    metavar="CERTIFICATE KEY",
    help="PEM files of a certificate chain and its key; clients then must use TLS.",
)
@click.option("--metrics-port", type=click.IntRange(1, 65535), help="Port for Prometheus, with counts of statements.")
@click.option(
    "--metrics-host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address of the metrics port."
)
def sql_server(
    warehouse: str, host: str, port: int, memory: str, metrics_port: int | None, metrics_host: str, **login: Any
) -> None:
    """Serves the views of `tidemark sql` to BI tools, with the protocol of PostgreSQL, until SIGTERM or Ctrl-C.

    It is read-only: no statement can write, or reach files or other machines.
    """
    from tidemark.pipeline.sql_server.sql_listener import serve_sql

    serve_sql(warehouse, (host, port), memory, _access(**login), (metrics_host, metrics_port) if metrics_port else None)


def _access(user: str, password_file: Path | None, tls: tuple[Path, Path] | None) -> "Access":
    """Returns the log-in of the options. Raises SetUpError if the password or the certificate cannot be used."""
    from pydantic import SecretStr

    from tidemark.kafka_access.secrets import clear_text
    from tidemark.pipeline.settings.secrets import raising_set_up_errors
    from tidemark.pipeline.sql_server.login import Access

    password_text = os.environ.pop("TIDEMARK_SQL_PASSWORD", "")
    with raising_set_up_errors():
        password = clear_text(SecretStr(password_text) if password_text else None, password_file, "--password")
    return Access.of(user, None if password is None else SecretStr(password), tls)
