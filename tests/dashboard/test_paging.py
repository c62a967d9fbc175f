"""Pages of a list whose rows share numbers: each row is on one page, in order."""

import pytest

from pipeline.reading.pages.paging import page_of
from pipeline.tables.query import Row

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
