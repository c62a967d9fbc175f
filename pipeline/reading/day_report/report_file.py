"""The page of a day as one file, which asks for no other; read from the tables, without Spark."""

import base64
import hashlib
import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import click
from markupsafe import Markup

from pipeline.errors import SetUpError
from pipeline.instants import now_ms
from pipeline.reading.day_report.calendar_day import Day, day_of
from pipeline.reading.day_report.day_summary import daily_of
from pipeline.reading.pages.page_text import templates
from pipeline.reading.pages.table_reader import TableReader
from pipeline.tables.ledger import require_warehouse

_STATIC: Final = files("pipeline.reading.pages") / "static"


def day_page(warehouse: str, day_text: str, zone: ZoneInfo) -> tuple[Day, str]:
    """The day that is told, and its page as HTML. Raises SetUpError where there is no warehouse."""
    require_warehouse(warehouse)
    now = now_ms()
    day = day_of(day_text, zone, now)
    found = TableReader(warehouse).read(
        lambda tables, summary: None if summary is None else daily_of(tables, summary, day, now)
    )
    style, icon = ((_STATIC / name).read_text() for name in ("style.css", "icon.svg"))
    page = templates("pipeline.reading.day_report", zone, linked=False).get_template("day.html")
    return day, page.render(
        view=found,
        day=day,
        now=now,
        warehouse=warehouse,
        style=Markup(style),  # noqa: S704 - our own
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        icon=icon,
    )


def write_page(page: str, output: str) -> None:
    """Writes a page to a file, which is whole or not there; `-` is standard output.

    Raises SetUpError where the file cannot be written.
    """
    if output == "-":
        click.echo(page.encode(), nl=False)  # in UTF-8, whatever the terminal has
        return
    file = Path(output)
    part = file.parent / f".tidemark-{os.getpid()}"
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise SetUpError(f"cannot write {output}: {error.strerror}. Name another file by --output") from error
    finally:
        with suppress(OSError):
            part.unlink()
    click.echo(f"written to {output}")
