"""Pages of a list whose rows share numbers: each row is on one page, in order; and the state of rows together."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.site import POLICY, REPORTS, Event, Site
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.tables.query import Row
from tidemark.pipeline.web.pages.paging import page_of
from tidemark.pipeline.web.pages.window_sums import rows_of_report, windows_of

NUMBERS = [9, 7, 7, 7, 7, 7, 4, 4, 1]


def read(until: int | None, skip: int, most: int) -> list[Row]:
    """Returns the rows up to `until`, without the first `skip`, and one more than a page has."""
    rows: list[Row] = [{"number": number, "row": row} for row, number in enumerate(NUMBERS)]
    return [row for row in rows if until is None or row["number"] <= until][skip : skip + most + 1]


@pytest.mark.parametrize("most", range(1, len(NUMBERS) + 1))
def test_each_row_is_on_one_page(most: int) -> None:
    seen, until, skip = list[int](), None, 0
    while True:
        page = page_of(read(until, skip, most), most, lambda row: int(row["number"]), until, skip, None)
        seen += [row["row"] for row in page.rows]
        if page.next_page is None or len(seen) > len(NUMBERS):
            break
        until, skip = page.next_page["until"], page.next_page["skip"]
    assert seen == [*range(len(NUMBERS))]


@pytest.mark.slow
def test_a_window_has_the_state_of_its_most_changed_row(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:1], totals=None)).open()
    site.batch(Event(1, "ann")).batch(Event(21)).batch(Event(2, "late")).correct()
    reader = TableReader(str(tmp_path))
    rows = reader.read(lambda tables, _: rows_of_report(tables, REPORTS[0], {}, None, 0)).rows
    assert {row["user_id"]: row["state"] for row in rows} == {"ann": "closed", "late": "corrected"}
    windows = reader.read(lambda tables, _: windows_of(tables, REPORTS[0]))
    assert windows[0].state == "corrected"
