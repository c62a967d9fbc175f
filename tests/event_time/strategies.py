"""Random streams for the pure core: small numbers, so that windows are shared and boundaries are hit."""

from dataclasses import dataclass

from hypothesis import strategies as st

from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid

PARTITIONS = 3
LATEST = 600
"""The highest event time: windows of 10 to 50 ms get many events."""


@dataclass(frozen=True)
class Record:
    """A decoded event. Times in milliseconds."""

    partition: int
    event_time: int
    kafka_timestamp: int


@dataclass(frozen=True)
class Step:
    """A batch of records after a silence of `silence_ms`. A step without records is a tick."""

    silence_ms: int
    records: tuple[Record, ...]


def policy(window_ms: int) -> st.SearchStrategy[Policy]:
    """Rules for windows of a length, which slide by no more than that, or grow up to it."""
    grids = st.builds(
        Grid,
        size_ms=st.just(window_ms),
        slide_ms=st.sampled_from([window_ms, *(slide for slide in (1, 4, 10) if slide <= window_ms)]),
        offset_ms=st.integers(0, 70),
    )
    growing = st.builds(
        Cumulate,
        size_ms=st.just(window_ms),
        step_ms=st.sampled_from([window_ms, *(step for step in (1, 5, 10) if window_ms % step == 0)]),
        offset_ms=st.integers(0, 70),
    )
    report = st.builds(Report, name=st.just("all"), windows=grids | growing, allowed_lateness_ms=st.integers(0, 60))
    return st.builds(
        Policy,
        strategy=st.builds(Bounded, bound_ms=st.integers(0, 40)),
        idle_timeout_ms=st.integers(1, 100),
        max_future_skew_ms=st.integers(0, 200),
        reports=report.map(lambda one: (one,)),
    )


def rules_for(window_ms: int, allowed_lateness_ms: int) -> Policy:
    """One report with tumbling windows."""
    report = Report("all", Grid(window_ms, window_ms), allowed_lateness_ms)
    return Policy(strategy=Bounded(10), idle_timeout_ms=100, max_future_skew_ms=300, reports=(report,))


policies = st.sampled_from([1, 10, 30, 50]).flatmap(policy)
records = st.builds(
    Record,
    partition=st.integers(0, PARTITIONS - 1),
    # Zero and below are no times; some of the others are ahead of the Kafka timestamp.
    event_time=st.integers(-5, LATEST),
    kafka_timestamp=st.integers(1, LATEST),
)
steps = st.builds(
    Step,
    silence_ms=st.integers(0, 150),
    records=st.lists(records, max_size=8).map(tuple),
)
streams = st.lists(steps, min_size=1, max_size=12)
