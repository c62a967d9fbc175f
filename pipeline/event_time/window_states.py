"""What the windows of every report, and the totals, have come to, side by side."""

from collections.abc import Collection, Iterable, Mapping

from pipeline.event_time import rules
from pipeline.event_time.firing import Firing, Moved, Published, Steps
from pipeline.event_time.policy import Policy
from pipeline.event_time.windows.base import State

Firings = Mapping[str, Firing]
"""What is due of each report, by its name; a report of which nothing is due is not in it, or its due is false."""
States = Mapping[str, State]
"""What each report's windows have come to, by its name."""


def begun(policy: Policy) -> States:
    """The states where there is nothing yet."""
    return restored(policy, {}, {}, ())


def restored(
    policy: Policy, panes: Mapping[str, Iterable[int]], published: Mapping[str, Published], steps: Steps
) -> States:
    """The states as the tables tell of them: by name the starts of panes and how far it is published."""
    states: dict[str, State] = {
        report.name: report.windows.state(
            report, panes.get(report.name, ()), published.get(report.name, Published()), steps
        )
        for report in policy.reports
    }
    return states | ({policy.totals.name: policy.totals.begun()} if policy.totals else {})


def moved(batch: int, panes: Collection[int], before: int | None, after: int | None) -> Moved:
    """What a batch did, with watermarks that may not be there."""
    return Moved(batch, panes, *(rules.NO_WATERMARK if time is None else time for time in (before, after)))


def after_batch(states: States, step: Moved) -> tuple[Firings, States]:
    """What a batch makes due, and the states that it leads to."""
    return _split({name: state.after_batch(step) for name, state in states.items()})


def at_start(states: States, watermark: int | None, batch: int) -> tuple[Firings, States]:
    """What a start with this batch id publishes again: all that has fired and is not known to be final."""
    frontier = rules.NO_WATERMARK if watermark is None else watermark
    return _split({name: state.at_start(frontier, batch) for name, state in states.items()})


def open_windows(states: States) -> dict[str, int]:
    """How many windows are not closed, of the reports whose states know."""
    known = {name: state.open_windows for name, state in states.items()}
    return {name: count for name, count in known.items() if count is not None}


def then(first: Firings, later: Firings) -> Firings:
    """Both at once: one publication may cover several batches, for it is a function of all committed panes."""
    return {name: first.get(name, Firing()).then(later.get(name, Firing())) for name in {**first, **later}}


def anything(firings: Firings) -> bool:
    """Whether there is anything to publish."""
    return any(firings.values())


def _split(found: Mapping[str, tuple[Firing, State]]) -> tuple[Firings, States]:
    return {name: firing for name, (firing, _) in found.items()}, {name: state for name, (_, state) in found.items()}
