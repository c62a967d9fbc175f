"""The verb `check`."""

from typing import Final

import click

from tidemark.command_line.printable import printable
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import settings_options
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.settings.model import Settings

_COLOURS: Final = {"pass": "green", "warn": "yellow", "fail": "red"}


@click.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=[
        "tidemark check --config tidemark.toml",
        "tidemark check --bootstrap-servers kafka:9092 --topic events --warehouse /data/tidemark",
    ],
)
@settings_options
def check(settings: Settings) -> int:
    """Checks whether `run` would start with these settings: broker, topic, warehouse, Java and all else that it needs.

    Each line is a check that passes, warns or fails, with what to do. It creates nothing permanent, and may run while
    the service runs. Exit code 0: no check failed. 1: at least one failed. 2: the settings are invalid.
    """
    from tidemark.pipeline.commands.preflight.check_result import Level
    from tidemark.pipeline.commands.preflight.preflight import check_results

    levels = []
    for result in check_results(settings, now_ms):
        levels.append(result.level)
        click.echo(
            f"{click.style(result.level, fg=_COLOURS[result.level])}  {result.subject:<10}  {printable(result.message)}"
        )
    failed, warned = levels.count(Level.FAIL), levels.count(Level.WARN)
    click.echo(f"{failed} failed, {warned} to look at, {levels.count(Level.PASS)} passed")
    return 1 if failed else 0
