"""The page of a day as one file, which asks for no other; read from the tables, without Spark."""

import base64
import hashlib
from importlib.resources import files
from typing import Final
from zoneinfo import ZoneInfo

from markupsafe import Markup

from pipeline.commands.pages.reader import Reader
from pipeline.commands.pages.written import templates
from pipeline.commands.report.daily import daily_of
from pipeline.commands.report.day import Day, day_of
from pipeline.commands.times import now_ms
from pipeline.tables.ledger import require_warehouse

_STATIC: Final = files("pipeline.commands.pages") / "static"


def page_of(warehouse: str, told: str, zone: ZoneInfo) -> tuple[Day, str]:
    """The day that is told, and its page as HTML. Raises SetUpError where there is no warehouse."""
    require_warehouse(warehouse)
    now = now_ms()
    day = day_of(told, zone, now)
    found = Reader(warehouse).read(lambda tables, books: None if books is None else daily_of(tables, books, day, now))
    style, icon = ((_STATIC / name).read_text() for name in ("style.css", "icon.svg"))
    page = templates("pipeline.commands.report", zone, linked=False).get_template("day.html")
    return day, page.render(
        it=found,
        day=day,
        now=now,
        warehouse=warehouse,
        style=Markup(style),  # noqa: S704 - our own
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        icon=icon,
    )
