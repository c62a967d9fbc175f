"""A start from the tables goes on as if the service had never stopped."""

from dataclasses import dataclass, field, replace
from itertools import starmap

from hypothesis import given
from hypothesis import strategies as st

from tests.event_time.core import NAME, Core, windows_of
from tests.event_time.strategies import Step, policies, streams
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.firing import PublicationState, WatermarkStep, WindowsDue
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.periodic import PeriodicState


@dataclass
class Tables:
    """Panes and ledger would know this after some batches."""

    policy: Policy
    panes: set[int] = field(default_factory=set)
    watermarks: dict[int, int] = field(default_factory=dict)
    """Each watermark and the first batch that reached it."""

    def take(self, core: Core, step: Step) -> WindowsDue:
        windows = windows_of(self.policy)
        verdicts, firing = core.take(step)
        self.panes |= {windows.pane_start(record.event_time) for record in verdicts if verdicts[record] == "counted"}
        if core.frontier.watermark is not None:
            self.watermarks.setdefault(core.frontier.watermark, core.progress.batch_id)
        return firing

    def restored(self, closed_until: int) -> PeriodicState:
        """As a start does it; windows up to `closed_until` are known to be published and final."""
        steps = tuple(
            sorted(WatermarkStep(time, batch) for time, batch in self.watermarks.items() if time >= closed_until)
        )
        report = self.policy.reports[0]
        return windows_of(self.policy).state(report, self.panes, PublicationState(0, closed_until), steps)


@given(policies, streams, streams)
def test_a_restored_service_makes_the_same_windows_due(policy: Policy, past: list[Step], future: list[Step]) -> None:
    core, tables = Core(policy), Tables(policy)
    for step in past:
        tables.take(core, step)
    other = Core(policy, core.now)
    closed_until = lateness.closed_until(policy.reports[0], core.frontier.watermark)
    other.progress = replace(core.progress, windows={NAME: tables.restored(closed_until)}).at_start()[1]
    for step in future:
        assert other.take(step) == core.take(step)


@given(policies, streams, st.data())
def test_a_start_publishes_again_all_that_may_have_been_missed(
    policy: Policy, past: list[Step], data: st.DataObject
) -> None:
    core, tables = Core(policy), Tables(policy)
    firings = [tables.take(core, step) for step in past]
    closed_until = data.draw(
        st.sampled_from([rules.NO_WATERMARK, *sorted({firing.closed_until for firing in firings})])
    )
    refired, _ = tables.restored(closed_until).at_start(rules.as_number(core.frontier.watermark), batch=99)
    for firing in firings:
        assert {end for end in firing.fired | firing.refired if end > closed_until} <= refired.refired
    assert all(end > closed_until for end in refired.refired)
    assert refired.closed == {end for end in refired.refired if end <= refired.closed_until}


def test_a_start_publishes_what_has_fired_and_was_not_published_as_closed() -> None:
    #  window   [0, 50)      [50, 100)   [100, 150)
    #           published    fired       open            the watermark is 110
    windows, report = Grid(50, 50), Report(NAME, Grid(50, 50), 20)
    state = windows.state(report, [0, 50, 100], PublicationState(1, 50), (WatermarkStep(100, 1),))
    firing, _ = state.at_start(110, batch=9)
    assert (firing.fired, firing.refired, firing.closed) == (frozenset[int](), frozenset({100}), frozenset[int]())
    assert state.open_windows == 2


def test_a_start_of_a_new_warehouse_has_nothing_to_publish() -> None:
    firing, _ = PeriodicState(Report(NAME, Grid(50, 50), 20), Grid(50, 50)).at_start(rules.NO_WATERMARK, batch=1)
    assert firing.is_empty


def test_a_start_names_the_batch_that_fired_a_window_in_an_earlier_epoch() -> None:
    report, steps = Report(NAME, Grid(50, 50), 20), tuple(starmap(WatermarkStep, ((90, 3), (104, 5), (117, 8))))
    state = Grid(50, 50).state(report, {50, 100}, PublicationState(), steps)
    firing, _ = state.at_start(117, batch=10)
    assert firing.refired == {100}
    assert firing.fired_by == {100: 5}
