"""The documents: links lead somewhere, terms exist, promises name tests, decisions have a status."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from dev.site import slug
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.tables.schemas import OWN, USER_TOTALS, result_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted({*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("[a-z]*/README.md"), *ROOT.glob("deploy/*/*.md")})
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def prose(page: Path) -> str:
    """Returns a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", prose(page), re.MULTILINE)
    return {slug(heading) for heading in headings}


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    links = {(page, link) for page in PAGES for link in LINK.findall(prose(page))}
    inside = {(page, link) for page, link in links if not link.startswith(("http:", "https:"))}
    assert len(inside) > 100
    assert [(str(page), link) for page, link in sorted(inside) if not leads_somewhere(page, link)] == []


def terms() -> Iterator[tuple[str, str]]:
    """Yields each of our terms with each name that it has in the code."""
    (table,) = (DOCS / "event-time.md").read_text().split("\n## Terms\n")[1:]
    for row in re.findall(r"^\| ([^|]+) \|[^|]*\|([^|]+)\|$", table, re.MULTILINE)[1:]:
        yield from ((row[0], name) for name in re.findall(r"`([^`]+)`", row[1]))


def names_in_code() -> set[str]:
    """Returns modules and packages by path, and the names of classes, tables and columns."""
    sources = [path for path in (ROOT / "pipeline").rglob("*.py") if path.name != "__init__.py"]
    paths = {str(path.relative_to(ROOT / "pipeline")) for source in sources for path in (source, source.parent)}
    classes = chain.from_iterable(re.findall(r"^class (\w+)", source.read_text(), re.MULTILINE) for source in sources)
    tables = [result_of(Report("report", Grid(1, 1), 0, measures=tuple(MEASURES))), USER_TOTALS, *OWN]
    return {*paths, *classes, *(spec.name for spec in tables), *(name for spec in tables for name in spec.schema.names)}


def test_every_term_is_in_the_code() -> None:
    names = names_in_code()
    assert [(term, name) for term, name in terms() if name not in names] == []
    assert [term for term, _ in terms()] == sorted(term for term, _ in terms())


def promises() -> list[str]:
    section = (DOCS / "guarantees.md").read_text().split("\n## ")[1]
    return re.findall(r"^\d+\. .*?(?=^\d+\. |^\[|\Z)", section, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise[3:40])
def test_every_promise_names_files_with_tests(promise: str) -> None:
    files = [DOCS / link for link in LINK.findall(promise.split("Tests: ")[1])]
    assert files
    for file in files:
        assert re.search(r"^def test_", file.read_text(), re.MULTILINE), file


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise[3:40])
def test_every_promise_has_a_test_with_kafka_and_spark_in_make_test(promise: str) -> None:
    texts = [(DOCS / link).read_text() for link in LINK.findall(promise.split("Tests: ")[1])]
    assert any("mark.core" in text and "broker: Cluster" in text for text in texts)


def relations(page: Path, label: str) -> set[str]:
    """Returns the decisions that a line of the head names."""
    line = re.search(rf"^- {label}: (.+)", page.read_text(), re.MULTILINE)
    assert line, page
    return set(LINK.findall(line[1]))


def test_every_decision_has_a_status_and_is_listed() -> None:
    for page in DECISIONS:
        head = rf"# {int(page.name[:4])}\. .+\n\n- Status: accepted(, superseded in part)?\n- Date: \d{{4}}-\d\d-\d\d\n"
        found = re.match(head, page.read_text())
        assert found, page
        older, newer = relations(page, "Supersedes"), relations(page, "Superseded by")
        assert bool(found[1]) == bool(newer), page
        assert all(page.name in relations(page.parent / name, "Superseded by") for name in older), page
        assert all(page.name in relations(page.parent / name, "Supersedes") for name in newer), page
        assert f"]({page.name}) |" in (page.parent / "README.md").read_text(), page


def test_documents_name_files_that_exist() -> None:
    folders = [
        folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name[0] != "." and folder.name != "build"
    ]
    endings = ("py", "java", "yml", "yaml", "toml", "sh", "json", "md", "avsc")
    files = [str(file) for folder in folders for file in folder.rglob("*") if file.suffix.removeprefix(".") in endings]
    code = re.compile(rf"`([\w-][\w./-]*/[\w-]+\.(?:{'|'.join(endings)}))`")
    named = {(page.name, file) for page in PAGES for file in code.findall(page.read_text())}
    assert len(named) > 10
    missing = [(page, file) for page, file in sorted(named) if not any(each.endswith(f"/{file}") for each in files)]
    made = {("CONTRIBUTING.md", "build/nightly/report.md"), ("start.md", "schemas/action.1047.avsc")}
    assert {*missing} <= made, "a command or the reader makes these"


def test_no_row_of_a_table_is_inside_of_a_paragraph() -> None:
    for page in PAGES:
        lines = ["", *prose(page).splitlines(), ""]
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
            if line.startswith("|"):
                assert all(not each.strip() or each.startswith(("|", "<")) for each in (before, after)), (page, line)
            else:
                assert " | " not in line or "`" in line, (page, line)
