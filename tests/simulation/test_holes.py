"""Holes between two writers that were found before the search, each as a story: who comes between which two steps."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.simulation import rules
from tests.simulation.events import MINUTE, NOON, Event, events
from tests.simulation.judge import rows_of
from tests.simulation.rules import Rules
from tests.simulation.verbs import violations
from tests.simulation.world import Process
from tests.simulation.writers import Stage
from tidemark.pipeline.amend import watermark_reset as reset_verb
from tidemark.pipeline.amend.erase.erasure import erase_person, persons_rows
from tidemark.pipeline.event_time.certain import certain_watermark
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.results import corrections as corrections_module
from tidemark.pipeline.results import layout
from tidemark.pipeline.results.corrections import Corrections
from tidemark.pipeline.results.kind_registry import kind_of, kinds_of
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.results.retention import remove_by_age
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables import housekeeping
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tables.transactions import CLOSED_APP, CORRECTED_APP, REMOVED_APP

pytestmark = pytest.mark.slow

#   minute   1    11  12   24 23   500        25 26   31   41
#            ann  bob ann  cid bob wrong      dan cid ann  bob
WRONG = events("1ann 11bob 12ann 24cid 23bob 500wrong* 25dan 26cid 31ann 33cid 41bob 61cid")
ORDERED = events("1ann 2bob 4ann 11bob 12ann 21cid 31bob 41ann 51cid 61ann")
AT_25 = NOON + 25 * MINUTE


def process(warehouse: Path, topic: tuple[Event, ...], settings: Rules, *, has_upkeep: bool = False) -> Process:
    return Process(Stage(NOON), str(warehouse), (topic,), settings, has_upkeep=has_upkeep)


def views(warehouse: Path, name: str = "page_views") -> dict[tuple[str, float], int]:
    """Page views by user and minute of the window's start; two rows of one window are an error."""
    found = dict[tuple[str, float], int]()
    for row in rows_of(str(warehouse), name):
        key = row["user_id"], (row["window_start"].timestamp() * 1000 - NOON) / MINUTE
        assert key not in found, f"twice: {key}"
        found[key] = row["page_views"]
    return found


def closed_until(warehouse: Path, name: str = "page_views") -> float:
    """The minute up to which windows are final, by the report's table."""
    return ((DeltaTable(str(warehouse / name)).transaction_version(CLOSED_APP) or 0) - NOON) / MINUTE


@pytest.fixture
def put_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], str]:
    """Resets the watermark to minute 25, by the clock."""
    monkeypatch.setattr(reset_verb, "now_ms", lambda: AT_25)
    return lambda: reset_verb.reset(str(tmp_path), AT_25, "a wrong clock", confirmed=True)


def cut_off(monkeypatch: pytest.MonkeyPatch, one: Process, module: ModuleType, step: str) -> None:
    """Starts a process that fails at a step, after its epoch is in the ledger."""

    def refuses(*_: object, **__: object) -> None:
        raise OSError("the store is away")

    with monkeypatch.context() as patched:
        patched.setattr(module, step, refuses)
        with pytest.raises(OSError, match="away"):
            one.open()


def read_to_the_end(one: Process) -> Process:
    one.open()
    while not one.is_done:
        one.take(2)
    return one


def test_a_reset_is_one_commit_and_a_start_that_is_cut_off_leaves_the_rest_to_the_next(
    tmp_path: Path, put_back: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = process(tmp_path, WRONG, rules.GRID).open()
    for _ in range(3):
        service.take(2)
    tables = {path.name: DeltaTable(str(path)).version() for path in tmp_path.iterdir()}
    put_back()
    after = {path.name: DeltaTable(str(path)).version() for path in tmp_path.iterdir()}
    assert after == {**tables, "ledger": tables["ledger"] + 1}
    assert Ledger(str(tmp_path)).reset_to() == AT_25

    cut_off(monkeypatch, process(tmp_path, WRONG, rules.GRID), layout, "create_tables")
    assert closed_until(tmp_path) == 500
    process(tmp_path, WRONG, rules.GRID).open()
    assert closed_until(tmp_path) == 25
    read_to_the_end(process(tmp_path, WRONG, rules.GRID))
    assert Ledger(str(tmp_path)).reset_to() is None
    # Of [20, 30) the wrong clock had shown two rows: they are replaced when it fires by the right clock.
    expected = {("ann", 0): 1, ("bob", 10): 1, ("ann", 10): 1, ("cid", 20): 2, ("bob", 20): 1, ("dan", 20): 1}
    found = views(tmp_path)
    assert {key: found[key] for key in expected} == expected
    assert not violations(str(tmp_path))


@pytest.mark.parametrize("settings", [rules.GRID, rules.SESSIONS], ids=["grid", "sessions"])
def test_upkeep_by_a_wrong_clock_leaves_what_a_reset_opens_again(
    settings: Rules, tmp_path: Path, put_back: Callable[[], str]
) -> None:
    service = process(tmp_path, WRONG, settings, has_upkeep=True).open()
    service.stage.now = AT_25
    for _ in range(3):
        service.take(2)
    assert "from" in put_back()
    again = read_to_the_end(process(tmp_path, WRONG, settings, has_upkeep=True))
    assert again.progress.frontier.watermark == WRONG[-1].time
    name = settings.shapes[0].name
    assert sum(views(tmp_path, name).values()) == sum(event.time + 10 * MINUTE <= WRONG[-1].time for event in WRONG)
    assert not violations(str(tmp_path))


def test_retention_does_not_follow_a_watermark_ahead_of_the_clock(tmp_path: Path) -> None:
    service = process(tmp_path, WRONG, rules.AGED).open()
    service.stage.now = AT_25
    batch = [service.take(2) for _ in range(3)][-1]
    before, kept = views(tmp_path), service.resources.retention
    assert {start for _, start in before} >= {0, 10, 20}
    certain = certain_watermark(batch.after, batch.policy.strategy.delay_ms, AT_25)
    assert certain == AT_25
    remove_by_age(str(tmp_path), kept, batch.policy, certain, batch.batch_id, AT_25)
    assert {start for _, start in views(tmp_path)} == {start for _, start in before} - {0}
    assert DeltaTable(str(tmp_path / "page_views")).transaction_version(REMOVED_APP) == AT_25 - 10 * MINUTE


def test_the_last_windows_of_a_dropped_report_are_published_by_whichever_start_is_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, fewer = Rules((rules.VIEWS, rules.VISITS)), Rules((rules.VISITS,))
    service = process(tmp_path, ORDERED, both).open()
    for _ in range(4):
        service.take(2, publishes=False)

    cut_off(monkeypatch, process(tmp_path, ORDERED, fewer), layout, "create_tables")
    cut_off(monkeypatch, process(tmp_path, ORDERED, fewer), housekeeping, "take_over")
    process(tmp_path, ORDERED, fewer).open()
    assert {start for _, start in views(tmp_path)} == {0, 10, 20, 30}
    read_to_the_end(process(tmp_path, ORDERED, fewer))
    assert {start for _, start in views(tmp_path)} == {0, 10, 20, 30}
    assert not violations(str(tmp_path))


def late(user: str, minute: float, window: int, number: int) -> dict[str, Any]:
    """A correction of page_views: a view of a user in the window of ten minutes from a minute on."""
    counts = {"page_views": 1, "clicks": 0, "late_events": 1, "closed_until": NOON}
    where = {"topic": "t", "partition": 0, "offset": number, "event_time": NOON + round(minute * MINUTE)}
    start = NOON + window * MINUTE
    window_ms = {"window_start_ms": start, "window_end_ms": start + 10 * MINUTE}
    return {"report": "page_views", "user_id": user, **where, **counts, **window_ms}


@pytest.fixture
def corrected(tmp_path: Path) -> tuple[Process, Corrections]:
    """Windows up to minute 40 are published, and two corrections are decided: of one window and of one without rows."""
    service = process(tmp_path, ORDERED, rules.GRID).open()
    for _ in range(4):
        service.take(2)
    corrections = Corrections(str(tmp_path))
    assert corrections.append_next([late("ann", 3, 0, 100), late("zed", 13, 10, 101)])
    return service, corrections


def test_a_publication_that_replaces_a_corrected_window_adds_its_corrections_again(
    corrected: tuple[Process, Corrections], tmp_path: Path
) -> None:
    service, corrections = corrected
    policy = service.progress.policy
    corrections.apply(kind_of(policy.reports[0]))
    found = views(tmp_path)
    assert (found["ann", 0], found["zed", 10]) == (3, 1)
    # As after a start that read how far the table was published before an older publication closed the windows.
    ends = frozenset({NOON + 10 * MINUTE, NOON + 20 * MINUTE})
    again = WindowsDue(refired=ends, fired_by=dict.fromkeys(ends, service.progress.batch_id))
    kinds = kinds_of(str(tmp_path), policy)
    Publication(str(tmp_path), kinds).publish({"page_views": again}, service.progress.batch_id + 1)
    assert views(tmp_path) == found
    # A correction that is decided and not yet applied is added by its own commit only.
    assert corrections.append_next([late("ann", 3, 0, 104)])
    Publication(str(tmp_path), kinds).publish({"page_views": again}, service.progress.batch_id + 2)
    assert views(tmp_path) == found
    corrections.apply(kind_of(policy.reports[0]))
    assert views(tmp_path)["ann", 0] == 4


def test_a_correction_waits_for_a_window_that_is_open(corrected: tuple[Process, Corrections], tmp_path: Path) -> None:
    service, corrections = corrected
    kind = kind_of(service.progress.policy.reports[0])
    assert corrections.append_next([late("ann", 49, 40, 102)])
    assert corrections.append_next([late("bob", 3, 0, 103)])
    corrections.apply(kind)
    table = DeltaTable(str(tmp_path / "page_views"))
    assert table.transaction_version(CORRECTED_APP) == 1, "the later one waits with it"
    service.take(2)
    corrections.apply(kind)
    found = views(tmp_path)
    assert (found["ann", 40], found["bob", 0]) == (2, 2)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Has something else done once, between the rows that corrections make and their commit."""
    real: Callable[..., Any] = vars(corrections_module)["with_corrections"]

    def then(*args: Any, **given: Any) -> Any:
        rows = real(*args, **given)
        monkeypatch.setattr(corrections_module, "with_corrections", real)
        act()
        return rows

    monkeypatch.setattr(corrections_module, "with_corrections", then)


def test_an_erasure_between_reading_and_adding_the_first_corrections_is_not_undone(
    corrected: tuple[Process, Corrections], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, corrections = corrected
    settings = Settings(warehouse=str(tmp_path))
    meanwhile(monkeypatch, lambda: erase_person(settings, "zed"))
    corrections.apply(kind_of(service.progress.policy.reports[0]))
    assert not persons_rows(settings, "zed")
    assert views(tmp_path)["ann", 0] == 3


def test_what_retention_removed_does_not_come_back_by_a_correction_of_a_window_without_rows(
    corrected: tuple[Process, Corrections], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, corrections = corrected
    kept = process(tmp_path, ORDERED, rules.AGED)
    policy, number = service.progress.policy, service.progress.batch_id
    retention = kept._resources(Ledger(str(tmp_path))).retention
    meanwhile(
        monkeypatch,
        lambda: remove_by_age(str(tmp_path), retention, policy, NOON + 35 * MINUTE, number, NOON + 35 * MINUTE),
    )
    corrections.apply(kind_of(policy.reports[0]))
    assert {start for _, start in views(tmp_path)} == {20, 30}


def test_verify_accepts_corrections_of_a_report_that_was_never_published(
    tmp_path: Path, put_back: Callable[[], str]
) -> None:
    service = process(tmp_path, ORDERED, rules.GRID).open()
    service.end()
    service.take(3)
    put_back()
    again = process(tmp_path, ORDERED, rules.GRID).open()
    corrections = Corrections(str(tmp_path))
    assert corrections.append_next([late("ann", 1, 0, 0)])
    corrections.apply(kind_of(again.progress.policy.reports[0]))
    assert views(tmp_path) == {("ann", 0): 1}
    assert not violations(str(tmp_path))
