"""A service publishes and commits while a user is erased from its tables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Action, Faults, Rule
from tests.support.conservation import assert_conserved
from tests.support.every_file import files_with
from tests.support.processes import tidemark
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import rows
from tests.verify.site import POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend.erase import pane_erasure
from tidemark.pipeline.amend.erase.erasure import _named, erase_person
from tidemark.pipeline.amend.erase.pane_erasure import remove
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time.firing import Firing
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.results.kind_registry import kinds_of
from tidemark.pipeline.results.levels import Run
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.results.result_kind import Merge, ResultKind, SourceTables
from tidemark.pipeline.results.result_table import PublicationPlan, ResultChunk
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tuning import STANDARD

pytestmark = pytest.mark.slow
NOW = timedelta(0)
SMALL = replace(POLICY, reports=REPORTS[:1])
WHOM = "bob-who-leaves"


def erasing(warehouse: Path) -> Callable[[], object]:
    return partial(erase_person, Settings(warehouse=str(warehouse)), WHOM, NOW)


def erase_while(act: Callable[[], object], warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erases the user; `act` runs once, after the erasure has read the results and before it reads the panes."""
    acts = [act]

    def handle_later(uri: str) -> Handle:
        while acts:
            acts.pop()()
        return Handle(uri)

    monkeypatch.setattr(f"{remove.__module__}.Handle", handle_later)
    erasing(warehouse)()
    assert not acts
    assert files_with(warehouse, WHOM) == set()


class Meanwhile(ResultKind[Firing]):
    """A kind that calls `act` once, after its rows are computed and before they are written."""

    def __init__(self, kind: ResultKind[Any], act: Callable[[], object]) -> None:
        super().__init__(kind.spec, STANDARD)
        self._kind = kind
        self._acts = [act]

    def plan(self, firing: Firing, batch: int, tables: SourceTables) -> PublicationPlan:
        plan = self._kind.plan(firing, batch, tables)
        return replace(plan, chunks=self._chunks(plan))

    def _chunks(self, plan: PublicationPlan) -> Iterator[ResultChunk]:
        for chunk in plan.chunks:
            while self._acts:
                self._acts.pop()()
            yield chunk

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:
        return self._kind.merges(runs, panes, final, cutoff)


def test_a_run_that_ends_leaves_the_mark_of_a_run_for_another_user(tmp_path: Path) -> None:
    Site(tmp_path, SMALL).open().batch(Event(1, WHOM), Event(2)).batch(Event(21))
    (tables, bob), (_, ann) = (_named(Settings(warehouse=str(tmp_path)), user) for user in (WHOM, "ann"))
    remove(tables, bob)
    pane_erasure.finish(tables, ann)
    assert pane_erasure.is_pending(tables, bob)
    pane_erasure.finish(tables, bob)
    assert not pane_erasure.is_pending(tables, bob)


def test_rows_that_were_made_before_an_erasure_are_not_written_after_it(tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL).open().batch(Event(1, WHOM), Event(2)).batch(Event(21), publish=False)
    kinds = kinds_of(str(tmp_path), SMALL)
    erase = erasing(tmp_path)
    site.publication = Publication(str(tmp_path), [Meanwhile(kinds[0], erase), Meanwhile(kinds[1], erase)])
    site.publish_again()
    for name in ("page_views", "user_totals"):
        assert {row["user_id"] for row in rows(tmp_path, name)} == {"ann"}
    erase()
    assert files_with(tmp_path, WHOM) == set()
    assert_conserved(tmp_path)


def test_events_that_are_published_and_whose_panes_are_dropped_while_it_counts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, SMALL).open().batch(Event(1, WHOM), Event(2)).batch(Event(21), publish=False)
    erase_while(lambda: site.publish_again().compact(), tmp_path, monkeypatch)
    assert_conserved(tmp_path)
    assert {row["table"]: row["events"] for row in rows(tmp_path, "erasures")}["page_views"] == 1


def test_a_report_that_a_start_adds_meanwhile_is_erased_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landings = next(report for report in REPORTS if report.name == "landings")
    site = Site(tmp_path, replace(POLICY, reports=(landings,), totals=None)).open().batch(Event(1, WHOM), Event(2))

    def start_with_more() -> None:
        site.policy = replace(POLICY, reports=(landings, REPORTS[0]))
        site.open().batch(Event(12, WHOM), Event(13, "dan"))

    erase_while(start_with_more, tmp_path, monkeypatch)
    site.batch(Event(60))
    assert {row["user_id"] for row in rows(tmp_path, "page_views")} == {"dan"}
    assert {row["user_id"] for row in rows(tmp_path, "panes") if row["report"] == "page_views"} <= {"dan", "ann"}
    assert_conserved(tmp_path)


def test_corrections_that_were_computed_before_an_erasure_are_refused_after_it(tmp_path: Path) -> None:
    """Also if no correction of the user existed: the erasure commits to the table nevertheless."""
    site = Site(tmp_path, SMALL).open().batch(Event(21)).batch(Event(1)).correct()
    site.dead = []
    corrections = Corrections(str(tmp_path))
    late = site.batch(Event(2, WHOM)).late_rows()
    assert [row["user_id"] for row in late] == [WHOM]
    erasing(tmp_path)()
    assert not corrections.append_next(late)
    erasing(tmp_path)()  # removes the file of the refused commit
    assert files_with(tmp_path, WHOM) == set()


@NEEDS_FAULTS
def test_events_that_come_while_panes_are_removed_are_counted_once_in_count_windows(tmp_path: Path) -> None:
    """The fourth event fills a window with the third, which is gone when the fifth could fill one with the fourth."""
    warehouse = tmp_path / "warehouse"
    pairs = next(report for report in REPORTS if report.name == "pairs")
    by_page = replace(pairs, name="by_page", keys=("user_id", "page_url"))
    site = Site(warehouse, replace(POLICY, reports=(pairs, by_page), totals=None)).open()
    site.batch(Event(1, WHOM), Event(1.5, WHOM, "/a")).batch(Event(2, WHOM)).batch(Event(3, WHOM), Event(3))
    faults = Faults(tmp_path / "faults", warehouse)
    faults.set([Rule("here", "link", "panes/_delta_log/*.json", Action.HOLD)])
    command = ("erase", "--warehouse", str(warehouse), "--user", WHOM, "--yes")
    with tidemark(tmp_path / "said", *command, driver=faults.environment) as process:
        wait_for(partial(faults.struck, "here"), PATIENCE_S, "the removal of panes")
        site.batch(Event(4, WHOM)).batch(Event(5, WHOM))
        faults.go("here")
        assert process.wait(PATIENCE_S) == 0
    assert_conserved(warehouse)
    assert {row["table"]: row["events"] for row in rows(warehouse, "erasures")}["pairs"] == 6


def test_rows_of_an_uncommitted_batch_remain_and_are_reported(tmp_path: Path) -> None:
    site = Site(tmp_path, SMALL).open().batch(Event(1, WHOM), Event(2)).batch(Event(3, WHOM), commit=False)
    with pytest.raises(TransientError, match="events of the user keep coming, or a service that was killed"):
        erasing(tmp_path)()
    site.open()  # removes uncommitted rows
    erasing(tmp_path)()
    assert files_with(tmp_path, WHOM) == set()
    assert_conserved(tmp_path)
