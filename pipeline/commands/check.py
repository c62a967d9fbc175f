"""The verb `check`."""

from typing import Final

import click

from command_line.printable import printable
from command_line.verbs import Verb
from pipeline.commands.options import settings_options
from pipeline.instants import now_ms
from pipeline.settings.model import Settings

_COLOURS: Final = {"pass": "green", "warn": "yellow", "fail": "red"}


@click.command(
    cls=Verb,
    examples=[
        "tidemark check --config tidemark.toml",
        "tidemark check --bootstrap-servers kafka:9092 --topic events --warehouse /data/tidemark",
    ],
)
@settings_options
def check(settings: Settings) -> int:
    """Looks whether a start with these settings would succeed: broker, topic, warehouse, Java and all else it needs.

    Each line passes, warns or fails, and says what to do. It makes nothing that stays, and may run beside a service.
    Exit code 0: nothing failed. 1: something did. 2: the settings are not right.
    """
    from pipeline.commands.preflight.check_result import Level
    from pipeline.commands.preflight.preflight import check_results

    levels = []
    for result in check_results(settings, now_ms):
        levels.append(result.level)
        click.echo(
            f"{click.style(result.level, fg=_COLOURS[result.level])}  {result.subject:<10}  {printable(result.message)}"
        )
    failed, warned = levels.count(Level.FAIL), levels.count(Level.WARN)
    click.echo(f"{failed} failed, {warned} to look at, {levels.count(Level.PASS)} passed")
    return 1 if failed else 0
