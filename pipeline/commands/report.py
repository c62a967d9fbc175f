"""The verb `report`."""

from typing import Final, TypedDict, Unpack
from zoneinfo import ZoneInfo

import click
from click.core import ParameterSource

from tidemark.command_line.types import Parsed
from tidemark.command_line.verbs import Verb
from tidemark.pipeline import columns as c
from tidemark.pipeline.commands.options import warehouse_option
from tidemark.pipeline.errors import NotComplete, NothingFound
from tidemark.pipeline.reading.periods.period import Compare, checked_period
from tidemark.pipeline.settings.report_settings import zone_of
from tidemark.pipeline.web.day_report.calendar_day import TODAY, YESTERDAY, checked_day

_HTML: Final = "html"
_JSON: Final = "json"


class _Asked(TypedDict):
    """The options of what is written."""

    day: str | None
    period: str | None
    compare: str | None
    page_url: str | None
    only: tuple[tuple[str, str], ...]
    form: str | None
    wait: bool
    complete: bool


def _filter(text: str) -> tuple[str, str]:
    """Returns the name and the value of a filter. Raises ValueError."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise ValueError("write the name and the value of a filter, such as user_id=ann")
    return name, value


_GIVEN: Final = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


@click.command(
    cls=Verb,
    examples=[
        "tidemark report --warehouse /data/tidemark --day yesterday",
        "tidemark report --config tidemark.toml --day 2026-11-22 --zone Europe/Berlin --output day.html",
        "tidemark report --warehouse /data/tidemark --day yesterday --output - > yesterday.html",
        "tidemark report --warehouse /data/tidemark --period 7d --compare previous --format csv > week.csv",
        "tidemark report --config tidemark.toml --period yesterday --compare week --wait",
    ],
)
@click.option(
    "--day",
    type=Parsed("DAY", checked_day),
    help="today, yesterday, or a date such as 2026-11-22.  [default: today]",
)
@click.option(
    "--period",
    type=Parsed("PERIOD", checked_period),
    help="Figures of today, yesterday, 7d, 28d, 90d, month, year, or dates such as 2026-11-01..2026-11-26.",
)
@click.option(
    "--compare",
    type=click.Choice([compare.value for compare in Compare]),
    help="With a period: the same time before it, a week or a year earlier.  [default: none]",
)
@click.option("--page", "page_url", metavar="URL", help="With a period: figures of this page.")
@click.option(
    "--only",
    type=Parsed("NAME=VALUE", _filter),
    multiple=True,
    help="With a period: figures of this value, such as user_id=ann or entry_page=/shop; several hold at once.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([_HTML, _JSON, "csv", "parquet"]),
    help="html is the file of a day; json, csv and parquet are figures.  [default: html, with a period json]",
)
@click.option("--wait", is_flag=True, help="Figures: wait until the watermark has passed the end of the period.")
@click.option("--complete", is_flag=True, help="Figures: exit code 4 if they do not cover the whole period.")
@click.option(
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="File to write, - for standard output.  [default: tidemark-DAY.html, of figures standard output]",
)
@warehouse_option
@click.option(
    "--zone",
    type=Parsed("ZONE", zone_of),
    envvar="TIDEMARK_WINDOW__ZONE",
    show_envvar=True,
    default="UTC",
    help="Time zone of days and times, such as Europe/Berlin.  [default: window.zone, or UTC; of figures that of the "
    "reports]",
)
@click.pass_context
def report(context: click.Context, warehouse: str, output: str | None, zone: ZoneInfo, **asked: Unpack[_Asked]) -> None:
    """Writes a day as one HTML file: traffic, users, top pages, late events, the ledger's balance and dead letters.

    The file is self-contained: it can be stored, sent and opened anywhere. A window belongs to the day on which it
    ends. The command only reads, needs no Spark, and may run while the service runs. For a day without windows and
    batches the page says so, and the exit code is 3.

    With --period, or --format json, csv or parquet, it writes figures, a series and breakdowns of a period, each with
    its state: final, complete, so far, partial or unknown.
    """
    day, period = asked["day"], asked["period"]
    if day is not None and period is not None:
        raise click.UsageError("--day and --period are two periods: give one of them")
    form = asked["form"] or (_HTML if period is None else _JSON)
    if form != _HTML:
        zone_name = zone.key if context.get_parameter_source("zone") in _GIVEN else ""
        _write_figures(warehouse, {**asked, "form": form}, zone_name, output or "-")
    elif any(value for name, value in asked.items() if name not in ("day", "form")):
        raise click.UsageError(
            "--period, --compare, --page, --only, --wait and --complete are for figures: add --format json, csv or "
            "parquet"
        )
    else:
        _write_day(warehouse, day or TODAY, output, zone)


def _filters(asked: _Asked) -> dict[str, str]:
    """Returns the filters by name. Raises UsageError if a name is given twice."""
    pairs = [*asked["only"], *([(c.PAGE_URL, asked["page_url"])] if asked["page_url"] else [])]
    twice = next((name for name, _ in pairs if [other for other, _ in pairs].count(name) > 1), None)
    if twice:
        raise click.UsageError(f"{twice} is given twice: each filter has one value")
    return dict(pairs)


def _period_of(day: str) -> str:
    return day if day in (TODAY, YESTERDAY) else f"{day}..{day}"


def _write_day(warehouse: str, day: str, output: str | None, zone: ZoneInfo) -> None:
    from tidemark.pipeline.web.day_report.report_file import day_page, write_page

    page = day_page(warehouse, day, zone)
    write_page(page.html, output or f"tidemark-{page.day.date}.html")
    if not page.has_data:
        raise NothingFound(
            f"no window ends on {page.day.date}, and no batch was committed on it: choose a day by --day; `tidemark "
            "status` lists the latest windows"
        )


def _write_figures(warehouse: str, asked: _Asked, zone: str, output: str) -> None:
    from tidemark.pipeline.reading.periods.ask import Words
    from tidemark.pipeline.reading.periods.period_report import FORMS, period_traffic, why_incomplete
    from tidemark.pipeline.web.day_report.report_file import write_page

    period = asked["period"] or _period_of(asked["day"] or TODAY)
    words = Words.checked(period, asked["compare"] or Compare.NONE, zone, _filters(asked))
    traffic = period_traffic(warehouse, words, waits=asked["wait"])
    write_page(FORMS[asked["form"] or _JSON](traffic), output)
    if asked["complete"] and (reason := why_incomplete(traffic)):
        raise NotComplete(f"the period is not complete: {reason}")
