"""The verb `report`."""

from zoneinfo import ZoneInfo

import click

from tidemark.command_line.types import Parsed
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import warehouse_option
from tidemark.pipeline.errors import NothingFound
from tidemark.pipeline.reading.day_report.calendar_day import TODAY, checked_day
from tidemark.pipeline.settings.report_settings import zone_of


@click.command(
    cls=Verb,
    examples=[
        "tidemark report --warehouse /data/tidemark --day yesterday",
        "tidemark report --config tidemark.toml --day 2026-11-22 --zone Europe/Berlin --output day.html",
        "tidemark report --warehouse /data/tidemark --day yesterday --output - > yesterday.html",
    ],
)
@click.option(
    "--day",
    type=Parsed("DAY", checked_day),
    default=TODAY,
    show_default=True,
    help="today, yesterday, or a date such as 2026-11-22.",
)
@click.option(
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="File to write, - for standard output.  [default: tidemark-DAY.html]",
)
@warehouse_option
@click.option(
    "--zone",
    type=Parsed("ZONE", zone_of),
    envvar="TIDEMARK_WINDOW__ZONE",
    show_envvar=True,
    default="UTC",
    help="Time zone of days and times, such as Europe/Berlin.  [default: window.zone, or UTC]",
)
def report(warehouse: str, day: str, output: str | None, zone: ZoneInfo) -> None:
    """Writes a day as one HTML file: traffic, users, top pages, late events, the ledger's balance and dead letters.

    The file is self-contained: it can be stored, sent and opened anywhere. A window belongs to the day on which it
    ends. The command only reads, needs no Spark, and may run while the service runs. For a day without windows and
    batches the page says so, and the exit code is 3.
    """
    from tidemark.pipeline.reading.day_report.report_file import day_page, write_page

    page = day_page(warehouse, day, zone)
    write_page(page.html, output or f"tidemark-{page.day.date}.html")
    if not page.has_data:
        raise NothingFound(
            f"no window ends on {page.day.date}, and no batch was committed on it: choose a day by --day; `tidemark "
            "status` lists the latest windows"
        )
