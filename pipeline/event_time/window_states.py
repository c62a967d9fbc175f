"""The states of all reports' windows, and of the totals, by name."""

from collections.abc import Collection, Iterable, Mapping

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.firing import CountedBatch, Firing, PublicationState, Steps
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.user_totals import TotalsState
from tidemark.pipeline.event_time.windows.base import State

Firings = Mapping[str, Firing]
"""Firings by the name of the report. Reports with nothing due are absent or map to an empty firing."""
States = Mapping[str, State[Firing]]
"""The state of each report's windows, by its name."""


def initial(policy: Policy) -> States:
    """Returns the states of a new warehouse."""
    return restored(policy, {}, {}, ())


def restored(
    policy: Policy, panes: Mapping[str, Iterable[int]], published: Mapping[str, PublicationState], steps: Steps
) -> States:
    """Returns the states at a start; `panes` has the starts in ms of each report's panes."""
    states: dict[str, State[Firing]] = {
        report.name: report.windows.state(
            report, panes.get(report.name, ()), published.get(report.name, PublicationState()), steps
        )
        for report in policy.reports
    }
    return states | ({policy.totals.name: TotalsState(policy.totals.every_ms)} if policy.totals else {})


def moved(batch: int, panes: Collection[int], before: int | None, after: int | None) -> CountedBatch:
    """Returns the `CountedBatch` of a batch, whose watermarks may be None."""
    return CountedBatch(batch, panes, rules.as_number(before), rules.as_number(after))


def after_batch(states: States, step: CountedBatch) -> tuple[Firings, States]:
    """Returns what a batch makes due, and the states after it."""
    return _split({name: state.after_batch(step) for name, state in states.items()})


def at_start(states: States, watermark: int | None, batch: int) -> tuple[Firings, States]:
    """Returns what a start with this batch id publishes again: all windows that have fired and are not final."""
    reached = rules.as_number(watermark)
    return _split({name: state.at_start(reached, batch) for name, state in states.items()})


def open_windows(states: States) -> dict[str, int]:
    """Returns the count of windows that are not closed, for reports whose states contain their windows."""
    counts = {name: state.open_windows for name, state in states.items()}
    return {name: count for name, count in counts.items() if count is not None}


def unfired_windows(states: States, watermark: int | None) -> dict[str, int]:
    """Returns the count of windows that have not fired, for reports with such windows in their states."""
    reached = rules.as_number(watermark)
    counts = {name: state.unfired_windows(reached) for name, state in states.items()}
    return {name: count for name, count in counts.items() if count}


def due(firings: Firings) -> Firings:
    """Returns the firings that are not empty."""
    return {name: firing for name, firing in firings.items() if not firing.is_empty}


def merge(first: Firings, later: Firings) -> Firings:
    """Merges what two runs of batches made due, of which `later` follows `first`, for one publication."""
    return {**first, **later, **{name: first[name].merge(later[name]) for name in first.keys() & later.keys()}}


def _split(steps: Mapping[str, tuple[Firing, State[Firing]]]) -> tuple[Firings, States]:
    return {name: firing for name, (firing, _) in steps.items()}, {name: state for name, (_, state) in steps.items()}
