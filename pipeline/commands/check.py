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
    from pipeline.commands.preflight.finding import Level
    from pipeline.commands.preflight.preflight import findings

    levels = []
    for finding in findings(settings, now_ms):
        levels.append(finding.level)
        click.echo(
            f"{click.style(finding.level, fg=_COLOURS[finding.level])}  {finding.about:<10}  {printable(finding.said)}"
        )
    failed, warned = levels.count(Level.FAIL), levels.count(Level.WARN)
    click.echo(f"{failed} failed, {warned} to look at, {levels.count(Level.PASS)} passed")
    return 1 if failed else 0
