"""The site of the tests of `/traffic.json` and `tidemark report --period`: its reports, days and questions."""

import json
from typing import Any

from tests.dashboard.scene import Served
from tests.verify.site import MINUTE
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions

HOUR = 60 * MINUTE
DAY = 24 * HOUR
BERLIN = "Europe/Berlin"
SKETCHES = ("page_views", "clicks", "unique_users")
REPORTS = (
    Report("by_minute", Grid(MINUTE, MINUTE), MINUTE, keys=()),
    Report("by_hour", Calendar(HOUR, BERLIN), MINUTE, keys=(), measures=SKETCHES),
    Report("by_day", Calendar(DAY, BERLIN), MINUTE, keys=(), measures=SKETCHES),
    Report("users_by_hour", Calendar(HOUR, BERLIN), MINUTE),
    Report("users_by_day", Calendar(DAY, BERLIN), MINUTE),
    Report("pages_by_hour", Calendar(HOUR, BERLIN), MINUTE, keys=("page_url",), measures=SKETCHES),
    Report("visits", Sessions(30 * MINUTE), MINUTE, measures=("page_views", "clicks", "duration_ms", "bounced")),
)
FIRST, SECOND, THIRD = "2024-05-01", "2024-05-02", "2024-05-03"
FORMULA = "=cmd|' /C calc'!A0"


def asked(served: Served, question: str) -> dict[str, Any]:
    answer = served.get(f"/traffic.json?{question}")
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    found: dict[str, Any] = json.loads(answer.text)
    return found


def day(date: str) -> str:
    return f"period={date}..{date}"
