"""The threat model in docs/security.md: each line has all cells and links to files with tests."""

import re

from tests.security.page import PAGE, rows

COLUMNS = 5
LINK = re.compile(r"\]\(([^)]+)\)")
ENTRY_POINTS = ("Port", "HTTP", "SQL", "Topic", "Log", "Terminal", "File", "Process")


def lines() -> list[list[str]]:
    return rows("## Threat model")


def test_each_line_has_all_cells_and_links_to_tests() -> None:
    for line in lines():
        assert len(line) == COLUMNS, line
        assert all(line), line
        assert LINK.search(line[-1]), line
        for link in LINK.findall(line[-1]):
            file = (PAGE.parent / link).resolve()
            assert file.name.startswith("test_")
            assert re.search(r"^def test_", file.read_text(), re.MULTILINE), link


def test_lines_are_grouped_by_entry_point() -> None:
    groups = [line[0].partition(":")[0] for line in lines()]
    assert [*dict.fromkeys(groups)] == [*ENTRY_POINTS]
    assert groups == sorted(groups, key=ENTRY_POINTS.index)


def test_no_other_section_has_a_table_of_threats() -> None:
    linked = re.findall(r"\(\.\./tests/", PAGE.read_text())
    assert len(linked) == sum(len(LINK.findall(line[-1])) for line in lines())
