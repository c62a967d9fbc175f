"""The verbs `dead-letters list`, `hours`, `show` and `replay`."""

from collections.abc import Callable
from typing import Any

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import TIME, selection_options, settings_options, warehouse_option
from tidemark.pipeline.settings.model import Settings


@click.group("dead-letters")
def dead_letters() -> None:
    """Shows rejected records with reasons, and replays those that are valid today."""


def _within(run: Callable[..., None]) -> Callable[..., None]:
    since = click.option(
        "--from", "since", type=TIME, help="Kafka timestamp from this time on, as 2024-05-01T12:00:00Z."
    )
    until = click.option("--to", "until", type=TIME, help="Kafka timestamp before this time.")
    return since(until(run))


@dead_letters.command(
    "list", cls=Verb, examples=["tidemark dead-letters list --warehouse /data/tidemark --from 2024-05-01T00:00:00Z"]
)
@warehouse_option
@_within
def by_reason(warehouse: str, since: int | None, until: int | None) -> None:
    """Counts dead letters by reason and detail, with the first and last time and the newest record's offset."""
    from tidemark.pipeline.reading.dead_letter_listing import print_reasons

    print_reasons(warehouse, since, until)


@dead_letters.command("hours", cls=Verb, examples=["tidemark dead-letters hours --warehouse /data/tidemark"])
@warehouse_option
@_within
def by_hour(warehouse: str, since: int | None, until: int | None) -> None:
    """Counts dead letters by hour of their Kafka timestamp, and by reason."""
    from tidemark.pipeline.reading.dead_letter_listing import print_hours

    print_hours(warehouse, since, until)


@dead_letters.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=["tidemark dead-letters show --config tidemark.toml --partition 2 --offset 1704"],
)
@click.option("--partition", type=int, required=True, help="Kafka partition of the record.")
@click.option("--offset", type=int, required=True, help="Kafka offset of the record.")
@settings_options
def show(settings: Settings, *, partition: int, offset: int) -> None:
    """Shows one dead letter, decoded as far as possible."""
    from tidemark.pipeline.reading.dead_letter_listing import print_opened

    print_opened(settings, partition, offset)


@dead_letters.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=[
        "tidemark dead-letters replay --config tidemark.toml --dry-run",
        "tidemark dead-letters replay --config tidemark.toml --reason malformed --from 2024-05-01T00:00:00Z",
    ],
)
@selection_options("malformed", "future", by_default="both")
@settings_options
def replay(settings: Settings, *, dry_run: bool, reasons: tuple[str, ...], **chosen: Any) -> None:
    """Judges malformed and future records again, and adds those that are valid now to closed windows and totals.

    Run it after you added a schema, corrected a mapping or raised a bound on the future. Reports and times that the
    settings do not name are those of the warehouse. Each record is added once, as by `correct`. It may run while the
    service runs, run twice concurrently, and be killed and run again.
    """
    from tidemark.pipeline.amend.correction_run import correct
    from tidemark.pipeline.amend.late_corrections import LetterSelection

    chosen["reasons"] = reasons or ("malformed", "future")
    correct(settings, LetterSelection(**chosen, is_judged_again=True), dry_run=dry_run)
