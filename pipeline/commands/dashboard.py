"""The verb `dashboard`."""

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import settings_options
from tidemark.pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    shows=["Usual settings", "dashboard:"],
    examples=[
        "tidemark dashboard --warehouse /data/tidemark",
        "tidemark dashboard --config tidemark.toml --dashboard.port 8080",
        "tidemark dashboard --config tidemark.toml --dashboard.host 0.0.0.0 --dashboard.token-file /run/secrets/token",
    ],
)
@settings_options
def dashboard(settings: Settings) -> None:
    """Serves the tables as a web page, at http://127.0.0.1:9478 by default, until SIGTERM or Ctrl-C.

    It only reads, and may run while the service runs. It uses the settings `warehouse`, `schemas.*`, `dashboard.*` and
    `metrics.*`; with the last it asks the service for its health.
    """
    from tidemark.pipeline.web.dashboard.dashboard_server import serve

    serve(settings)
