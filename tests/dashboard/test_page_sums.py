"""Every sum on the pages is that of the tables, names its scope, and links to what it counts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction

from tests.dashboard.scene import Served, future, malformed, rejected, serving, text_of
from tests.support.warehouse import rows
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.table_reader import CurrentTables, TableReader
from tidemark.pipeline.tables.transactions import REMOVED_APP
from tidemark.pipeline.web.pages.window_sums import earlier_than, windows_of

pytestmark = pytest.mark.slow
TEN = Grid(10 * MINUTE, 10 * MINUTE)
CLICKS = "event_type = 'click'"
POLICY_OF_CLICKS = replace(
    POLICY,
    reports=(
        Report("clicks", TEN, 5 * MINUTE, keys=(), where=CLICKS),
        Report("clicks_by_user", TEN, 5 * MINUTE, where=CLICKS),
        Report("pages", TEN, 5 * MINUTE, keys=("page_url",)),
    ),
    totals=None,
)
POLICY_OF_SUMS = replace(
    POLICY,
    reports=(
        Report("site", TEN, 5 * MINUTE, keys=()),
        Report("users", TEN, 5 * MINUTE),
        Report("pages", Grid(10 * MINUTE, 5 * MINUTE), 5 * MINUTE, keys=("page_url",)),
    ),
    totals=None,
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Late events of each kind: counted in fired windows, too late for some or for all, and corrected afterwards."""
    folder = tmp_path_factory.mktemp("sums")
    site = Site(folder, POLICY_OF_SUMS, committed_at=NOON).open()
    site.batch(*(Event(n / 2, f"user-{n % 4}", f"/{n % 3}", click=n % 5 == 0) for n in range(40)))
    site.batch(Event(21), Event(22, "bob"))
    site.batch(Event(12, "late-1"), Event(13, "late-2", "/late"))  # accepted by the window that fired
    site.batch(Event(28, "ann"))
    site.batch(Event(12, "partly", "/partly"), Event(2, "too-late"), Event(1, "too-late"))
    site.correct()
    rejected(site, malformed(site, b"?"), malformed(site, None), future(site, "eve"))
    return folder


@pytest.fixture(scope="module")
def page(warehouse: Path) -> Iterator[Served]:
    with serving(warehouse) as served:
        yield served


def section(html: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}".*?</section>', html, re.DOTALL)
    return str(found)


def numbers(html: str) -> dict[str, int]:
    """The numbers of the definition lists, by their names."""
    named = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", html, re.DOTALL)
    texts = {text_of(name): text_of(value).replace(",", "") for name, value in named}
    return {name: int(text) for name, text in texts.items() if text.isdigit()}


def table(html: str) -> list[list[str]]:
    """The cells of the rows of a table, without its head."""
    (body,) = re.findall(r"<tbody>(.*?)</tbody>", html, re.DOTALL)
    return [
        [text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    ]


def ledger_sum(warehouse: Path, column: str) -> int:
    return sum(row[column] for row in rows(warehouse, "ledger"))


def letters(warehouse: Path) -> Counter[str]:
    return Counter(row["reason"] for row in rows(warehouse, "dead_letters"))


def windows(warehouse: Path, report: str, key: str | None = None) -> dict[Any, Counter[str]]:
    """The published and the open counts of a report, by the end of the window in ms, or by the value of `key`."""
    found = dict[Any, Counter[str]]()
    published = {ms_of(row["window_end"]) for row in rows(warehouse, report)}
    for row in rows(warehouse, report):
        counts = {name: row[name] for name in ("page_views", "clicks", "late_events")}
        found.setdefault(row[key] if key else ms_of(row["window_end"]), Counter()).update(counts)
    for row in rows(warehouse, "panes"):
        end = row["pane_start"] + 10 * MINUTE
        if row["report"] == report and end not in published:
            counts = {name: row[name] for name in ("page_views", "clicks")}
            found.setdefault(row[key] if key else end, Counter()).update(counts)
    return found


def test_every_number_of_the_first_screen_is_that_of_the_tables(warehouse: Path, page: Served) -> None:
    html, reasons, site = page.get().text, letters(warehouse), windows(warehouse, "site")
    newest = max(ms_of(row["window_end"]) for row in rows(warehouse, "site"))
    assert numbers(section(html, "now")) == {
        "page views": site[newest]["page_views"],
        "clicks": site[newest]["clicks"],
        "dead letters": reasons.total(),
    }
    assert f"of {ledger_sum(warehouse, 'records')} records since the first batch" in text_of(html)
    assert numbers(section(html, "ledger")) == {
        "read": ledger_sum(warehouse, "records"),
        "counted": ledger_sum(warehouse, "counted"),
        "too late": reasons["too_late"],
        "future": reasons["future"],
        "malformed": reasons["malformed"],
    }
    assert f"{reasons['partly_late']} of the counted records were too late" in text_of(section(html, "ledger"))
    assert f"{reasons.total() - reasons['partly_late']} rejected records by reason" in text_of(section(html, "ledger"))


def test_every_window_and_list_of_the_first_screen_is_that_of_the_tables(warehouse: Path, page: Served) -> None:
    html, site = page.get().text, windows(warehouse, "site")
    found = [[int(cell) for cell in row[2:]] for row in table(section(html, "traffic"))]
    assert found == [
        [site[end][name] for name in ("page_views", "clicks", "late_events")] for end in sorted(site, reverse=True)
    ]
    assert [
        [int(cell) for cell in row[2:]] for row in table(section(page.get("/reports/site").text, "windows"))
    ] == found
    rows_of_site = [[int(cell) for cell in row[2:5]] for row in table(section(page.get("/reports/site").text, "rows"))]
    assert rows_of_site == found
    users = {user: counts["page_views"] for user, counts in windows(warehouse, "users", "user_id").items()}
    assert {name: int(count) for name, count in table(section(html, "top-user_id"))} == users
    last = max(row["window_end"] for row in rows(warehouse, "pages"))
    pages = {r["page_url"]: r["page_views"] for r in rows(warehouse, "pages") if r["window_end"] == last}
    assert {name: int(count) for name, count in table(section(html, "top-page_url"))} == pages


def test_every_sum_of_an_earlier_page_is_that_of_its_windows(warehouse: Path, page: Served) -> None:
    for report, key in (("site", None), ("users", "user_id"), ("pages", "page_url")):
        published = rows(warehouse, report)
        ends = sorted({ms_of(row["window_end"]) for row in published})
        for until in ends:
            html = page.get(f"/reports/{report}?until={until}").text
            listed = [row for row in published if ms_of(row["window_end"]) <= until]
            sums = [_sums(row for row in listed if ms_of(row["window_end"]) == end) for end in reversed(ends)]
            shown = [(int(row[2]), int(row[3]), int(row[-1])) for row in table(section(html, "windows"))]
            assert shown == [counts for counts in sums if any(counts)]
            assert "Earlier windows" not in html, "a link to an empty list"
            first = 3 if key else 2
            cells = [row[first : first + 3] for row in table(section(html, "rows"))]
            assert Counter(tuple(map(int, row)) for row in cells) == Counter(_sums([row]) for row in listed)


def test_earlier_windows_are_those_before_the_first_window_of_a_page(warehouse: Path) -> None:
    report = POLICY_OF_SUMS.reports[0]

    def ends(tables: CurrentTables, _: LedgerSummary | None) -> tuple[int | None, int | None]:
        windows = windows_of(tables, report)
        assert len(windows) > 1
        return earlier_than(tables, windows[1:], report), earlier_than(tables, windows, report)

    first = min(ms_of(row["window_end"]) for row in rows(warehouse, "site"))
    assert TableReader(str(warehouse)).read(ends) == (first, None)


def test_every_count_and_row_of_an_earlier_page_of_dead_letters_is_that_of_the_table(
    warehouse: Path, page: Served
) -> None:
    stored = rows(warehouse, "dead_letters")
    counts = {"all": len(stored)} | {name.replace("_", " "): count for name, count in letters(warehouse).items()}
    for until in sorted({row["batch"] for row in stored}):
        html = page.get(f"/dead-letters?until={until}").text
        shown = re.findall(r">([a-z ]+) <span class=\"count\">([0-9,]+)<", section(html, "now"))
        assert {name: int(count) for name, count in shown if count != "0"} == counts
        listed = Counter(row["reason"].replace("_", " ") for row in stored if row["batch"] <= until)
        assert Counter(row[1] for row in table(section(html, "letters"))) == listed


def _sums(listed: Iterable[dict[str, Any]]) -> tuple[int, int, int]:
    counts = [(row["page_views"], row["clicks"], row["late_events"]) for row in listed]
    return tuple(map(sum, zip(*counts, strict=True))) if counts else (0, 0, 0)  # type: ignore[return-value] # three


def test_every_sum_of_the_file_of_a_day_is_that_of_the_tables(warehouse: Path, tmp_path: Path) -> None:
    assert (
        main(["report", "--warehouse", str(warehouse), "--output", str(tmp_path / "day"), "--day", "2024-05-01"]) == 0
    )
    html, reasons, site = (tmp_path / "day").read_text(), letters(warehouse), windows(warehouse, "site")
    batches = {row["batch"] for row in rows(warehouse, "ledger")}
    sums = {name: sum(counts[name] for counts in site.values()) for name in ("page_views", "clicks")}
    assert numbers(section(html, "now")) == {
        "page views": sums["page_views"],
        "clicks": sums["clicks"],
        "users": len(windows(warehouse, "users", "user_id")),
        "records read": ledger_sum(warehouse, "records"),
        "dead letters": reasons.total(),
    }
    assert f"in {len(batches)} batches" in text_of(section(html, "now"))
    bars = [[int(cell) for cell in row[2:]] for row in table(section(html, "traffic"))]  # each of some windows
    sums["late_events"] = sum(counts["late_events"] for counts in site.values())
    assert [sum(column) for column in zip(*bars, strict=True)] == [*sums.values()]
    users = {user: counts["page_views"] for user, counts in windows(warehouse, "users", "user_id").items()}
    assert {name: int(count) for name, count in table(section(html, "top-user_id"))} == users
    dead = section(html, "dead").partition("</tbody>")[0] + "</tbody>"
    assert sum(int(row[2]) for row in table(dead)) == reasons.total()
    assert f"{reasons['partly_late']} too late for some of their windows" in text_of(section(html, "changed"))


def test_each_number_of_late_events_names_what_it_counts(warehouse: Path, page: Served) -> None:
    html, reasons, site = page.get().text, letters(warehouse), windows(warehouse, "site")
    late = {end: counts["late_events"] for end, counts in site.items() if counts["late_events"]}
    changed = section(html, "changed")
    words = text_of(changed)
    assert f"{len(late)} of the {len(site)} windows above, with {sum(late.values())} late events of site" in words
    assert (
        f"since the first batch: {reasons['too_late']} too late for every window, {reasons['partly_late']} too" in words
    )
    in_windows, in_corrections = changed.split("Dead letters since")
    assert [int(row[2]) for row in table(in_windows)] == [late[end] for end in sorted(late, reverse=True)]
    corrected = Counter(row["report"] for row in rows(warehouse, "corrections"))
    assert {name: int(added) for _, name, added in table(in_corrections)} == corrected


def test_each_link_to_dead_letters_leads_to_as_many_as_it_says(warehouse: Path, page: Served) -> None:
    links = re.findall(r'<a href="(/dead-letters[?\w=]*)"[^>]*>([\d,]+)</a>', page.get().text)
    assert {href for href, _ in links} == {"/dead-letters"} | {f"/dead-letters?reason={r}" for r in letters(warehouse)}
    for href, count in links:
        listed = page.get(href).text
        assert len(table(section(listed, "letters"))) == int(count)
        reason = href.partition("=")[2] or "all"
        assert f"{reason.replace('_', ' ')} {count} " in f"{text_of(section(listed, 'now'))} "


def test_dead_letters_that_were_removed_by_age_are_not_in_the_counts_of_the_list(tmp_path: Path) -> None:
    site = Site(tmp_path, POLICY_OF_SUMS, committed_at=NOON).open().batch(Event(1), Event(41))
    site.batch(Event(2, "old"), Event(3, "old"))
    removed = site.number
    site.batch(Event(4, "young"))
    handle = DeltaTable(str(tmp_path / "dead_letters"))
    properties = CommitProperties(app_transactions=[Transaction(REMOVED_APP, removed)])
    handle.delete(f"batch <= {removed}", commit_properties=properties)
    with serving(tmp_path) as page:
        said = text_of(page.get("/dead-letters?reason=too_late").text)
        assert "all 1 too late 1 partly late 0" in said
        assert "Removed by age: 2 dead letters of 3 since the first batch." in said


def test_a_report_of_clicks_draws_and_orders_by_clicks(tmp_path: Path) -> None:
    site = Site(tmp_path, POLICY_OF_CLICKS, committed_at=NOON).open()
    for user, clicks in (("ann", 1), ("bob", 3), ("cid", 2)):
        site.batch(*(Event(n / 10, user, f"/{user}", click=True) for n in range(clicks)))
    with serving(tmp_path) as page:
        assert "open: 6</title>" in page.get().text
        assert [name for name, _ in table(section(page.get().text, "top-page_url"))] == ["/bob", "/cid", "/ann"]
        report = page.get("/reports/clicks_by_user").text
        assert "clicks in 1 window " in text_of(section(report, "windows"))
        assert [row[2] for row in table(section(report, "rows"))] == ["bob", "cid", "ann"]
        chosen = page.get("/reports/clicks_by_user?measure=page_views").text
        assert "page views in 1 window " in text_of(section(chosen, "windows"))
        assert "page views in 1 window" in page.get("/pipeline?measure=page_views").text
        assert page.get("/reports/clicks_by_user?measure=nothing").status == 404


@pytest.mark.parametrize("at", ["2026-03-29", "2026-10-25"])
def test_lists_have_the_windows_that_they_name_when_clocks_change(tmp_path: Path, at: str) -> None:
    days = Calendar(1440 * MINUTE, "Europe/Berlin")
    policy = replace(POLICY, reports=(Report("days", days, 0, keys=("page_url",)),), totals=None)
    site, minutes = Site(tmp_path, policy).open(), (_noon_of(at) - NOON) // MINUTE
    site.batch(*(Event(minutes + 1440 * day) for day in range(-15, 6)))
    site.batch(Event(minutes + 1440 * 6))
    with serving(tmp_path) as page:
        html = page.get().text
        assert "in the last 10 windows, and in open windows, of days" in text_of(html)
        assert table(section(html, "top-page_url")) == [["/", "11"]]


def _noon_of(day: str) -> int:
    return ms_of(datetime.fromisoformat(f"{day}T12:00:00+00:00"))
