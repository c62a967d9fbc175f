"""`producers access-log`: its place on the command line."""

from argparse import Namespace
from typing import Any, Final

import click

from command_line.verbs import Verb
from producers.access_log.options import access_log_options


def _access_log(**options: Any) -> int:
    # Patterns of robots are not what `--help` should wait for.
    from producers.access_log.collector import execute

    click.echo(execute(Namespace(**options)))
    return 0


access_log: Final = Verb(
    "access-log",
    callback=_access_log,
    params=access_log_options(),
    short_help="Take visits from a web server's log.",
    help="Follows the access log of nginx or Apache, with its rotated files, and sends each visit exactly once, until "
    "Ctrl-C. LOG is the file that the server writes to, or - for standard input.",
    context_settings={"show_default": True},
    examples=[
        "producers access-log /var/log/nginx/access.log --name web-1 --salt-file salt --topic events",
        "producers access-log access.log --name web-1 --salt-file salt --format json --json-fields time=ts",
        "producers access-log access.log --name web-1 --salt-file salt --site https://shop.example --ignore '/api/*'",
    ],
)
