"""The verb `producers access-log`."""

from argparse import Namespace
from typing import Any, Final

import click

from tidemark.command_line.verbs import Verb
from tidemark.producers.access_log.options import access_log_options


def _access_log(**options: Any) -> int:
    # Imported late, so that `--help` does not wait for the patterns of bots.
    from tidemark.producers.access_log.access_log_run import execute

    click.echo(execute(Namespace(**options)))
    return 0


access_log: Final = Verb(
    "access-log",
    callback=_access_log,
    params=access_log_options(),
    help="Follows the access log of nginx, Apache, Caddy or another web server, with its rotated files, and sends each "
    "visit exactly once, until Ctrl-C. LOG is the file that the server writes to, or - for standard input.",
    context_settings={"show_default": True},
    examples=[
        "producers access-log /var/log/nginx/access.log --name web-1 --salt-file salt --topic events",
        "producers access-log access.log --name web-1 --salt-file salt --format json --json-fields time=ts",
        "producers access-log access.log --name web-1 --salt-file salt --format '%v:%p %h %l %u %t \"%r\" %>s'",
        "producers access-log access.log --name web-1 --salt-file salt --site https://shop.example --ignore '/api/*'",
    ],
)
