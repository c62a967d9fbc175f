"""Writes the page of a day as one self-contained file, without Spark."""

import base64
import hashlib
import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import click
from markupsafe import Markup

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.tables.ledger import require_warehouse
from tidemark.pipeline.web.day_report.calendar_day import Day, day_of
from tidemark.pipeline.web.day_report.day_summary import daily_of
from tidemark.pipeline.web.pages.page_text import templates

_STATIC: Final = files("tidemark.pipeline.web.pages") / "static"


class DayPage(NamedTuple):
    """The page of a day as HTML."""

    day: Day
    html: str
    has_data: bool
    """Whether a window ends on the day, or a batch was committed on it."""


def day_page(warehouse: str, day_text: str, zone: ZoneInfo) -> DayPage:
    """Returns the page of the day that `day_text` names. Raises SetUpError if there is no warehouse."""
    require_warehouse(warehouse)
    now = now_ms()
    day = day_of(day_text, zone, now)
    view = TableReader(warehouse).read(
        lambda tables, summary: None if summary is None else daily_of(tables, summary, day, now)
    )
    style, icon = ((_STATIC / name).read_text() for name in ("style.css", "icon.svg"))
    page = templates("tidemark.pipeline.web.day_report", linked=False).get_template("day.html")
    html = page.render(
        view=view,
        day=day,
        zone=zone,
        now=now,
        warehouse=warehouse,
        style=Markup(style),  # noqa: S704 - our own
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        icon=icon,
    )
    return DayPage(day, html, view is not None and bool(view.bars or view.committed.batches))


def write_page(page: str | bytes, output: str) -> None:
    """Writes a page, a text in UTF-8, to the file `output` atomically; `-` is standard output.

    Raises SetUpError if the file cannot be written.
    """
    content = page.encode() if isinstance(page, str) else page
    if output == "-":
        click.echo(content, nl=False)
        return
    file = Path(output)
    temporary = file.parent / f".tidemark-{os.getpid()}"
    try:
        temporary.write_bytes(content)
        temporary.replace(file)
    except OSError as error:
        raise SetUpError(f"cannot write {output}: {error.strerror}. Name another file with --output") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    click.echo(f"written to {output}")
