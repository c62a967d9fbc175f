"""A long backlog is published in chunks: several statements and commits of bounded size."""

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tests.crash.store_faults import Refusal, refusing
from tests.support.conservation import violations
from tests.support.seeds import drawn
from tests.support.warehouse import rows
from tests.verify.site import LAST_THREE, POLICY, REPORTS, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.results import due
from tidemark.pipeline.results.result_table import Results
from tidemark.pipeline.tuning import STANDARD, Tuning

NAMES = ("page_views", "pages", "days", "landings", "readers")
pytestmark = pytest.mark.slow


def played(warehouse: Path, tuning: Tuning) -> Site:
    """Plays a batch in which many windows fire."""
    site = Site(warehouse, tuning=tuning).open()
    site.batch(*(Event(minute, user) for minute in range(0, 60, 4) for user in ("ann", "bob")))
    return site.batch(Event(200))


def shown(warehouse: Path) -> dict[str, list[str]]:
    """Returns all rows without sketches, whose bytes depend on the order of users."""
    return {name: sorted(str({**row, "users_sketch": None}) for row in rows(warehouse, name)) for name in NAMES}


@pytest.fixture(params=drawn([1, STANDARD.statement_panes], 1), ids=["by panes", "by rows"])
def small(request: pytest.FixtureRequest) -> Tuning:
    return Tuning(statement_panes=request.param, chunk_rows=3, statement_rows=3)


def test_in_chunks_the_tables_are_the_same(tmp_path: Path, small: Tuning) -> None:
    played(tmp_path / "chunks", small)
    played(tmp_path / "whole", STANDARD)
    assert shown(tmp_path / "chunks") == shown(tmp_path / "whole")
    versions = [DeltaTable(str(tmp_path / name / "page_views")).version() for name in ("chunks", "whole")]
    assert versions[0] >= versions[1] + 2
    assert not violations(tmp_path / "chunks")


def test_a_publication_that_failed_between_two_chunks_is_completed_and_publishes_nothing_twice(
    tmp_path: Path, small: Tuning
) -> None:
    site = Site(tmp_path, tuning=small).open()
    site.batch(*(Event(minute, user) for minute in range(0, 60, 4) for user in ("ann", "bob")), publish=False)
    refusal = Refusal("page_views", "window_end < '2024-05-01T12:40:00+00:00'")
    with refusing(tmp_path, [refusal]), pytest.raises(DeltaError):
        site.publish_again()
    assert 0 < len(rows(tmp_path, "page_views")) < 10
    site.publish_again()
    found = rows(tmp_path, "page_views")
    assert len({(row["user_id"], row["window_start"]) for row in found}) == len(found)
    assert not violations(tmp_path)


@pytest.mark.parametrize("report", [REPORTS[3], REPORTS[4], LAST_THREE], ids=lambda report: report.name)
@pytest.mark.parametrize("many", [3, STANDARD.statement_rows], ids=["in parts", "at once"])
def test_sessions_and_count_windows_are_there_all_at_once_however_many_keys_there_are(
    report: Report, many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(POLICY, reports=(report,), totals=None)
    site = Site(tmp_path, policy, tuning=Tuning(statement_rows=many)).open()
    events = [Event(minute, f"user-{number}") for minute in range(4) for number in range(20)]
    site.batch(*events, Event(30), publish=False)
    with monkeypatch.context() as patched:
        patched.setattr(Results, "finish", refuse)
        with pytest.raises(DeltaError):
            site.publish_again()
    assert not rows(tmp_path, report.name)
    site.open()
    found = {(row["user_id"], row["window_start"]) for row in rows(tmp_path, report.name)}
    assert len(found) == len(rows(tmp_path, report.name)) == (20 if report.windows.by_time else 40)
    assert not violations(tmp_path)


def refuse(*_: object, **__: object) -> None:
    """Fails like a process that ends just before the last commit of a publication."""
    raise DeltaError("refused")


def test_windows_are_never_taken_together_where_two_of_them_are_too_many() -> None:
    #  six windows with as many rows as four statements may have: two at a time would be half as many again
    windows = POLICY.reports[0].windows
    assert isinstance(windows, Periodic)
    found = due.WindowsToPublish(
        POLICY.reports[0], windows, range(60_000, 420_000, 60_000), {}, 1, STANDARD.statement_panes
    )
    assert [len(part.ends) for part in found.parts(4)] == [1] * 6
    assert [len(part.ends) for part in found.parts(2)] == [3, 3]
