"""Old rows are removed by the settings, and the verifier does not report them as lost."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.parsed_settings import parsed_settings
from tests.support.seeds import drawn
from tests.support.warehouse import rows
from tests.verify.plant import OF_RESULTS, alter, drop, notes, sentences
from tests.verify.site import MINUTE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.errors import Replaced, SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.retention import remove_by_age

pytestmark = pytest.mark.core
ROWS = TableRetention(0, 30 * MINUTE)
DAY = 86_400_000
SESSIONS, PAIRS = (next(report for report in REPORTS if report.name == name) for name in ("sessions", "pairs"))


def age(site: Site, kept: Mapping[str, TableRetention], now: int = 0) -> None:
    remove_by_age(str(site.warehouse), kept, site.policy, site.watermark, site.number, now)


def windows(warehouse: Path, name: str) -> set[int]:
    """The minutes after noon at which the windows of a table end."""
    return {row["window_end"].hour * 60 + row["window_end"].minute - 720 for row in rows(warehouse, name)}


@pytest.mark.slow
def test_windows_are_removed_by_the_watermark_once_they_are_closed(tmp_path: Path) -> None:
    """The watermark is at 41 minutes: [10, 20) would be 21 old, and has closed; [30, 40) has not."""
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:2])).open()
    site.batch(Event(1), Event(12, "bob"), Event(35)).batch(Event(41, "cat"))
    age(site, {"page_views": TableRetention(0, 0)})
    assert windows(tmp_path, "page_views") == {40}
    assert 10 in windows(tmp_path, "pages")


@pytest.mark.slow
@pytest.mark.parametrize("corrected_first", drawn([False, True], 1))
def test_the_laws_hold_of_what_is_left(tmp_path: Path, *, corrected_first: bool) -> None:
    policy = replace(POLICY, reports=tuple(one for one in REPORTS if one.windows.by_time and one.name != "sessions"))
    site = Site(tmp_path, policy).open()
    site.batch(Event(1), Event(3, "bob", "/a"), Event(12)).batch(Event(55, "cat"))
    site.batch(Event(2, "dan"), Event(85)).batch(Event(100))
    if corrected_first:
        site.correct()
    age(site, {one.name: ROWS for one in policy.reports})
    if not corrected_first:
        site.correct()
    # A correction does not restore a window that was removed.
    assert windows(tmp_path, "page_views") == {90}
    assert "page_views: windows that ended by 2024-05-01T13:10:00Z were removed by age" in notes(tmp_path)
    site.open().batch(Event(130), Event(128, "bob")).compact()
    assert "removed by age" in notes(tmp_path)
    assert windows(tmp_path, "page_views") == {90, 110, 130}
    alter(tmp_path, "page_views", drop(user_id="bob"))
    assert "is not shown" in sentences(tmp_path, OF_RESULTS)


@pytest.mark.slow
def test_a_correction_that_was_computed_before_its_window_was_removed_does_not_add_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window had no row, so no file of it is rewritten by both."""
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:1], totals=None)).open()
    site.batch(Event(12), Event(35)).batch(Event(2, "dan"))
    missing, ages = Corrections._missing, [lambda: age(site, {"page_views": TableRetention(0, 0)})]

    def computed_before(*arguments: Any) -> Any:
        found = missing(*arguments)
        while ages:
            ages.pop()()
        return found

    monkeypatch.setattr(Corrections, "_missing", computed_before)
    site.correct()
    assert windows(tmp_path, "page_views") == set()


@pytest.mark.slow
def test_dead_letters_stay_as_long_as_a_correction_may_wait_for_them(tmp_path: Path) -> None:
    """The one at 12 minutes is partly late while [5, 15) is open: it goes when that is closed, however old it is."""
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:2])).open()
    site.batch(Event(1), Event(19)).batch(Event(2, "dan"), Event(12, "eve"))
    letters = len(rows(tmp_path, "dead_letters"))
    assert letters >= 1
    age(site, {"dead_letters": TableRetention(0, DAY)}, now=10**15)
    assert len(rows(tmp_path, "dead_letters")) == letters
    site.batch(Event(200))
    age(site, {"dead_letters": TableRetention(0, 10**15)})
    assert len(rows(tmp_path, "dead_letters")) == letters
    age(site, {"dead_letters": TableRetention(0, DAY)}, now=10**15)
    assert not rows(tmp_path, "dead_letters")
    assert "dead_letters: those of batches up to" in notes(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("other", [REPORTS[0], SESSIONS])
def test_dead_letters_go_although_no_event_is_too_late_for_count_windows(tmp_path: Path, other: Report) -> None:
    site = Site(tmp_path, replace(POLICY, reports=(other, PAIRS), totals=None)).open()
    site.batch(Event(1), Event(30)).batch(Event(2, "dan"), Event(31)).batch(Event(200))
    assert len(rows(tmp_path, "dead_letters")) == 1
    age(site, {"dead_letters": TableRetention(0, DAY)}, now=10**15)
    assert not rows(tmp_path, "dead_letters")
    assert "dead_letters: those of batches up to" in notes(tmp_path)


@pytest.mark.slow
def test_a_correction_may_outlive_its_dead_letter(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:1], totals=None)).open()
    site.batch(Event(1), Event(30)).batch(Event(2, "dan"), Event(60))
    site.correct()
    site.batch(Event(200))
    age(site, {"dead_letters": TableRetention(0, DAY)}, now=10**15)
    assert not rows(tmp_path, "dead_letters")
    assert "removed by age" in notes(tmp_path)


@pytest.mark.slow
def test_a_service_that_was_replaced_removes_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=REPORTS[:1], totals=None)).open().batch(Event(1), Event(100))
    before, old = rows(tmp_path, "page_views"), replace(site)
    site.open()
    with pytest.raises(Replaced):
        age(old, {"page_views": TableRetention(0, 0)})
    assert rows(tmp_path, "page_views") == before


def test_the_retention_of_versions_is_set_by_table_and_reset(tmp_path: Path) -> None:
    warehouse, policy = str(tmp_path), replace(POLICY, reports=REPORTS[:1], totals=None)
    for kept, interval in (
        ({"page_views": TableRetention(7 * DAY)}, "interval 604800 seconds"),
        ({}, "interval 1 days"),
    ):
        create_tables(warehouse, policy, kept)
        told = DeltaTable(f"{warehouse}/page_views").metadata().configuration
        assert told["delta.logRetentionDuration"] == told["delta.deletedFileRetentionDuration"] == interval
    assert DeltaTable(f"{warehouse}/dead_letters").version() == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('views = { rows = "1d" }', "retention.views: there is no such table"),
        ('user_totals = { rows = "1d" }', "only rows of windows of time have an age"),
        ('ledger = { rows = "1d" }', "retention.ledger: there is no such table"),
        ('visits = { rows = "1d" }', "only rows of windows of time have an age"),
    ],
)
def test_retention_of_a_table_without_an_age_is_refused_in_one_sentence(
    tmp_path: Path, table: str, message: str
) -> None:
    file = tmp_path / "tidemark.toml"
    file.write_text(f'[reports.visits]\nwindow = {{ gap = "5m" }}\n[retention]\n{table}\n')
    with pytest.raises(SetUpError, match=message):
        parsed_settings("--config", str(file))


def test_nothing_is_removed_unless_it_is_said(tmp_path: Path) -> None:
    file = tmp_path / "tidemark.toml"
    file.write_text('[retention]\npage_views = { time_travel = "7d" }\ndead_letters = { rows = "90d" }\n')
    assert parsed_settings("--config", str(file)).keep_by_table() == {
        "page_views": TableRetention(7 * DAY),
        "dead_letters": TableRetention(None, 90 * DAY),
    }
    assert parsed_settings().keep_by_table() == {}
