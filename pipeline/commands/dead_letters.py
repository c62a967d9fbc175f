"""The verbs `dead-letters list`, `hours`, `show` and `replay`."""

from collections.abc import Callable
from typing import Any

import click

from command_line.verbs import Verb
from pipeline.commands.options import TIME, choosing_events, settings_options, warehouse_option
from pipeline.settings.model import Settings


@click.group("dead-letters")
def dead_letters() -> None:
    """Shows what was rejected and why, and adds what today's rules would take."""


def _within(run: Callable[..., None]) -> Callable[..., None]:
    since = click.option("--from", "since", type=TIME, help="Taken by Kafka from then on, as 2024-05-01T12:00:00Z.")
    until = click.option("--to", "until", type=TIME, help="Taken by Kafka before this time.")
    return since(until(run))


@dead_letters.command(
    "list", cls=Verb, examples=["tidemark dead-letters list --warehouse /data/tidemark --from 2024-05-01T00:00:00Z"]
)
@warehouse_option
@_within
def by_reason(warehouse: str, since: int | None, until: int | None) -> None:
    """Lists reasons and details, with how many there are, the first and the last, and the newest one's place."""
    from pipeline.reading.dead_letter_listing import print_reasons

    print_reasons(warehouse, since, until)


@dead_letters.command("hours", cls=Verb, examples=["tidemark dead-letters hours --warehouse /data/tidemark"])
@warehouse_option
@_within
def by_hour(warehouse: str, since: int | None, until: int | None) -> None:
    """Counts them by the hour in which Kafka took them, and by reason."""
    from pipeline.reading.dead_letter_listing import print_hours

    print_hours(warehouse, since, until)


@dead_letters.command(
    cls=Verb, examples=["tidemark dead-letters show --config tidemark.toml --partition 2 --offset 1704"]
)
@click.option("--partition", type=int, required=True, help="Its Kafka partition.")
@click.option("--offset", type=int, required=True, help="Its Kafka offset.")
@settings_options
def show(settings: Settings, *, partition: int, offset: int) -> None:
    """Opens one, decoded as far as it goes."""
    from pipeline.reading.dead_letter_listing import print_opened

    print_opened(settings, partition, offset)


@dead_letters.command(
    cls=Verb,
    examples=[
        "tidemark dead-letters replay --config tidemark.toml --dry-run",
        "tidemark dead-letters replay --config tidemark.toml --reason malformed --from 2024-05-01T00:00:00Z",
    ],
)
@choosing_events("malformed", "future", by_default="both")
@settings_options
def replay(settings: Settings, *, dry_run: bool, reasons: tuple[str, ...], **chosen: Any) -> None:
    """Judges malformed and future records again, and adds those that are in order now to closed windows and totals.

    After a schema was added, a mapping mended or a bound on the future raised. Each is added once, as `correct` adds
    too-late events; it may be run beside the service, twice at once, killed and run again.
    """
    from pipeline.amend.correction_run import correct
    from pipeline.amend.late_corrections import Chosen

    chosen["reasons"] = reasons or ("malformed", "future")
    correct(settings, Chosen(**chosen, is_judged_again=True), dry_run=dry_run)
