"""A start from the tables goes on as if the service had never stopped."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pipeline.time import rules
from pipeline.time.grid import Grid
from pipeline.time.verdicts import Policy
from pipeline.time.windows import Due, Windows
from tests.time.core import Core, grid_of
from tests.time.strategies import Step, policies, streams


@dataclass
class Tables:
    """What panes and ledger would know after some batches."""

    policy: Policy
    pane_ends: set[int] = field(default_factory=set)
    watermarks: dict[int, int] = field(default_factory=dict)
    """Each watermark and the first batch that reached it."""

    def take(self, core: Core, step: Step) -> Due:
        before = set(core.windows.open)
        _, due = core.take(step)
        self.pane_ends |= before | core.windows.open | due.fired | due.again
        if core.frontier.watermark is not None:
            self.watermarks.setdefault(core.frontier.watermark, core.number)
        return due

    def restored(self, published: int) -> Windows:
        """As a start does it; `published` is the watermark up to which `page_views` is known to be published."""
        lateness = self.policy.reports[0].allowed_lateness_ms
        known = {end for end in self.pane_ends if not rules.has_closed(end, published, lateness)}
        return Windows.restored(grid_of(self.policy), lateness, known, sorted(self.watermarks.items()))


@given(policies, streams, streams)
def test_a_restored_service_makes_the_same_windows_due(policy: Policy, past: list[Step], future: list[Step]) -> None:
    core, tables = Core(policy), Tables(policy)
    for step in past:
        tables.take(core, step)
    other = Core(policy, core.now, core.number, core.frontier)
    other.windows = tables.restored(_number(core.frontier.watermark))
    other.windows.at_start(core.frontier.watermark)
    for step in future:
        assert other.take(step) == core.take(step)


@given(policies, streams, st.data())
def test_a_start_publishes_again_all_that_may_have_been_missed(
    policy: Policy, past: list[Step], data: st.DataObject
) -> None:
    core, tables = Core(policy), Tables(policy)
    dues = [(tables.take(core, step), _number(core.frontier.watermark)) for step in past]
    watermarks = [rules.NO_WATERMARK, *sorted(tables.watermarks)]
    published = data.draw(st.sampled_from(watermarks))
    again = tables.restored(published).at_start(core.frontier.watermark)
    for due, watermark in dues:
        assert due.fired | due.again <= again.again or watermark <= published
    now, lateness = core.frontier.watermark, policy.reports[0].allowed_lateness_ms
    assert not any(rules.has_closed(end, published, lateness) for end in again.again)
    assert again.closed == {end for end in again.again if rules.has_closed(end, _number(now), lateness)}


def test_a_start_of_a_new_warehouse_has_nothing_to_publish() -> None:
    assert not Windows(Grid(50, 50), 20).at_start(None)


def test_a_start_names_the_batch_that_fired_a_window_in_an_earlier_epoch() -> None:
    windows = Windows.restored(Grid(50, 50), 20, {100, 150}, [(90, 3), (104, 5), (117, 8)])
    due = windows.at_start(117)
    assert due.again == {100}
    assert due.fired_by == {100: 5}


def _number(watermark: int | None) -> int:
    return rules.NO_WATERMARK if watermark is None else watermark
