"""The order of a start, with tables that only note it, and the epochs that a process takes for its own."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.policies import policy_of
from tidemark.pipeline.errors import Replaced
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.results import layout
from tidemark.pipeline.service import recovery
from tidemark.pipeline.service.recovery import OwnEpoch, carry_out, open_epoch
from tidemark.pipeline.tables import event_id_table, housekeeping

MINUTE = 60_000
KAFKA: Any = None
VIEWS = Report("page_views", Grid(MINUTE, MINUTE), 0)


class Books:
    """A ledger of epochs, by the process that opened each; `lost` commits come second to another service's."""

    def __init__(self, *processes: str, lost: int = 0) -> None:
        self.processes, self.lost = list(processes), lost

    def latest(self) -> list[Any]:
        """Returns the newest row."""
        return [SimpleNamespace(epoch=len(self.processes))] if self.processes else []

    def opening(self, epoch: int) -> Any:
        """Returns the opening of an epoch."""
        return SimpleNamespace(process=self.processes[epoch - 1])

    def commit_next(self, process: str) -> bool:
        """Opens the next epoch, unless another service is first."""
        self.processes.append("another" if self.lost else process)
        self.lost -= bool(self.lost)
        return self.processes[-1] == process


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Books, OwnEpoch], list[str]]:
    """Starts a service on a ledger; returns what it did."""

    def start(books: Books, own: OwnEpoch) -> list[str]:
        calls = list[str]()

        def next_epoch(_: object, __: object, rows: list[Any], process: str) -> Any:
            epoch = rows[0].epoch + 1 if rows else 1
            calls.append(f"plan {epoch}")
            return SimpleNamespace(batch=SimpleNamespace(epoch=epoch, folded_at=0, ledger_rows=lambda _: process))

        monkeypatch.setattr(recovery, "require_tables_of_one_time", lambda _: calls.append("look at the tables"))
        monkeypatch.setattr(recovery, "next_epoch", next_epoch)
        monkeypatch.setattr(recovery, "remarks", lambda *_: [])
        monkeypatch.setattr(recovery, "carry_out", lambda epoch, _: calls.append(f"open {epoch.batch.epoch}"))
        resources: Any = SimpleNamespace(ledger=books)
        open_epoch(resources, KAFKA, own)
        return calls

    return start


def test_a_start_looks_at_the_tables_and_opens_the_next_epoch(
    starts: Callable[[Books, OwnEpoch], list[str]],
) -> None:
    own = OwnEpoch()
    assert starts(Books("another"), own) == ["look at the tables", "plan 2", "open 2"]
    assert own.epoch == 2


def test_a_start_that_comes_second_plans_again_from_the_newest_epoch(
    starts: Callable[[Books, OwnEpoch], list[str]],
) -> None:
    assert starts(Books(lost=2), OwnEpoch()) == ["look at the tables", "plan 1", "plan 2", "plan 3", "open 3"]


def test_a_process_goes_on_after_an_epoch_that_it_opened_without_learning_it(
    starts: Callable[[Books, OwnEpoch], list[str]],
) -> None:
    own = OwnEpoch(1)
    assert starts(Books(own.process, own.process), own)[-1] == "open 3"


def test_a_process_that_was_replaced_does_not_replace_its_successor(
    starts: Callable[[Books, OwnEpoch], list[str]],
) -> None:
    own = OwnEpoch(1)
    with pytest.raises(Replaced, match="epoch 2"):
        starts(Books(own.process, "another"), own)


def epoch_of(watermark: int, dropped: tuple[str, ...] = ()) -> Any:
    """Returns an epoch after another one, whose settings lack the `dropped` reports."""
    policy = policy_of(VIEWS)
    frontier = Frontier({0: PartitionState(0, 0)}, watermark)
    return SimpleNamespace(
        opening=SimpleNamespace(policy=policy, closed={}, last_batch=EPOCH + 7, topic_id=None),
        batch=SimpleNamespace(batch_id=2 * EPOCH, epoch=2, topic="t", after=frontier),
        earlier=["before"],
        is_reset=False,
        added=set(),
        missing_now=set(),
        lost_since_last_batch=dropped,
        closed_reports=dict.fromkeys(dropped, MINUTE),
        forgets_ids_before=5,
        last_policy=lambda _: policy if dropped else None,
    )


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls on the tables, in order. The report is published up to minute 0, with panes of minutes 0 and 1."""
    done = list[str]()

    def noting(step: str) -> Callable[..., None]:
        return lambda *_, **__: done.append(step)

    monkeypatch.setattr(layout, "create_tables", noting("create"))
    monkeypatch.setattr(layout, "stored_reports", lambda names, _: [VIEWS] if names else [])
    for name in ("take_over", "remove_uncommitted"):
        monkeypatch.setattr(housekeeping, name, noting(name))
    monkeypatch.setattr(
        housekeeping, "remove_panes", lambda _, names, __: done.extend(f"remove panes of {n}" for n in names)
    )
    monkeypatch.setattr(housekeeping, "pane_starts", lambda _: {VIEWS.name: {0, MINUTE}})
    forget = "forget ids before {}"
    monkeypatch.setattr(event_id_table, "forget", lambda _, since, __: done.append(forget.format(since)))
    monkeypatch.setattr(recovery, "kinds_of", lambda *_: [])
    monkeypatch.setattr(recovery, "Compaction", lambda *_: None)
    state = SimpleNamespace(batch=0, closed_until=0)
    monkeypatch.setattr(recovery, "published", lambda *_: state)
    monkeypatch.setattr(
        recovery, "Results", lambda *_: SimpleNamespace(close=noting("close"), handle=SimpleNamespace(table=None))
    )
    monkeypatch.setattr(recovery, "latest_end", lambda _: MINUTE)
    monkeypatch.setattr(recovery, "Publication", lambda *_: SimpleNamespace(publish=noting("publish the dropped")))

    def publish(_: object, __: object, firings: Any, ___: int) -> None:
        done.append(f"publish {sorted(firings[VIEWS.name].refired)}")

    monkeypatch.setattr(recovery, "publish_due", publish)
    return done


def carried_out(epoch: Any) -> None:
    """Carries out an epoch."""
    resources: Any = SimpleNamespace(
        warehouse="",
        retention={},
        tuning=None,
        large=None,
        malformed=None,
        schemas=SimpleNamespace(store=lambda: None),
        ledger=SimpleNamespace(watermarks=lambda _: [(MINUTE, EPOCH + 1)], warehouse_id=""),
        observer=SimpleNamespace(opened=lambda *_: None),
    )
    carry_out(epoch, resources)


def test_a_start_fences_removes_what_is_uncommitted_and_publishes_what_is_not_final(steps: list[str]) -> None:
    #  minute  0     1 = watermark     2
    #          [fired][ open           )
    carried_out(epoch_of(MINUTE))
    assert steps == ["create", "take_over", "remove_uncommitted", "forget ids before 5", f"publish [{MINUTE}]"]


def test_a_start_before_any_window_has_fired_publishes_nothing(steps: list[str]) -> None:
    carried_out(epoch_of(MINUTE - 1))
    assert steps[-1] == "forget ids before 5"


def test_the_last_windows_of_a_dropped_report_are_published_and_closed_before_its_panes_go(steps: list[str]) -> None:
    carried_out(epoch_of(MINUTE, dropped=(VIEWS.name,)))
    assert steps[3:6] == ["publish the dropped", "close", f"remove panes of {VIEWS.name}"]
