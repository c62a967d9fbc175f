"""Pages, the status and the SQL of readers show measures of fields with their digits."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving, text_of
from tests.support.warehouse import rows
from tests.verify.priced_site import FIELDS, PricedSite
from tests.verify.site import MINUTE, POLICY, Event
from tidemark.pipeline.cli import main
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid

pytestmark = pytest.mark.slow
SALES = Report(
    "sales",
    Grid(10 * MINUTE, 10 * MINUTE),
    5 * MINUTE,
    ("page_url",),
    measures=("page_views", *(name for measure in FIELDS for name in measure.measure_names)),
    field_measures=FIELDS,
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A window of two pages with revenues of -6.98 and 2.50, and one that is open."""
    folder = tmp_path_factory.mktemp("fields")
    site = PricedSite(folder, replace(POLICY, reports=(SALES,), totals=None)).open()
    site.batch(Event(1, page="/a"), Event(2.02, page="/a"), Event(3, page="/a"), Event(7.5, page="/b"))
    site.batch(Event(14, page="/a"))
    return folder


@pytest.fixture(scope="module")
def page(warehouse: Path) -> Iterator[Served]:
    with serving(warehouse) as served:
        yield served


def test_the_rows_are_those_that_the_page_must_show(warehouse: Path) -> None:
    found = {row["page_url"]: row["revenue"] for row in rows(warehouse, "sales")}
    assert found == {"/a": Decimal("-6.98"), "/b": Decimal("2.50")}


def test_a_page_has_sums_and_rows_with_their_digits(page: Served) -> None:
    html = page.get("/reports/sales?measure=revenue").text
    assert "-4.48" in text_of(html)
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", html, re.DOTALL) if ">/b<" in row]
    assert {"2.50", "2.5", "250", "/b"} <= {*text_of(row).split()}
    assert "/a, /a, /a" in text_of(html)
    assert "exit after time" not in html
    assert page.get("/").status == 200


def test_the_status_and_the_views_have_them(warehouse: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--warehouse", str(warehouse), "--report", "sales"]) == 0
    assert "-4.48" in capfd.readouterr().out
    sql = "SELECT state, revenue, average, lowest, entry FROM sales_live WHERE page_url = '/a' ORDER BY 1"
    assert main(["sql", "--warehouse", str(warehouse), "--format=csv", sql]) == 0
    assert capfd.readouterr().out.splitlines()[1:] == ["fired,-6.98,-3.49,-400,/a", "open,9.00,9.0,900,/a"]


def test_the_report_of_a_day_has_them(warehouse: Path, tmp_path: Path) -> None:
    file = tmp_path / "day.html"
    assert main(["report", "--warehouse", str(warehouse), "--day", "2024-05-01", "--output", str(file)]) == 0
    assert "4.52" in text_of(file.read_text())
