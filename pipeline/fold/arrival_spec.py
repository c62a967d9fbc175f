"""Lateness by arrival in the operator of a fold: what it must know of earlier batches, and the rises that it gives.

`connector/tidemark/ArrivalLane.java` follows a partition record by record. A record that may be late has rows of its
own with its step: one for each set of keys, and one with its fields.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.arrival import (
    NO_TIME,
    STEP_MS,
    ArrivalRows,
    ArrivalSpan,
    ArrivalState,
    ahead_ms,
    doubt_ms,
)
from tidemark.pipeline.event_time.checks import Check, verdict_of
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.fold.packed import GROUP

RISE: Final = -3
"""The grouping of rows of `ArrivalRows`: partition as packed number, `step`, `time` (the last step), highest time."""
STEP: Final = "step"
"""The column of the step at which a record arrived, in rows of one record; `time` is null unless it may be late."""
_EVENT_CHECKS: Final = sum(
    1 << check for check in Check if verdict_of(check) not in (Verdict.MALFORMED, Verdict.LEFT_OUT)
)
"""The checks of records that end a silence, as bits."""


def arrival_spec(span: ArrivalSpan, policy: Policy) -> Mapping[str, Any]:
    """Returns the fields of `ArrivalSpec.java` for a batch."""
    state = span.before
    return {
        "step_ms": STEP_MS,
        "idle_ms": policy.idle_timeout_ms,
        "delay_ms": policy.strategy.event_delay_ms - doubt_ms(policy),
        "by_clock": policy.strategy.by_clock,
        "ahead_ms": ahead_ms(policy),
        "last_timed": int(Check.TOO_LATE),
        "event_checks": _EVENT_CHECKS,
        "step": state.step,
        "last": span.until - 1,
        "watermark": rules.as_number(state.watermark),
        "partitions": [_partition(number, state) for number in state.partitions],
    }


def _partition(number: int, state: ArrivalState) -> Mapping[str, Any]:
    return {
        "partition": number,
        "highest": state.partitions[number].highest,
        "last_event": state.last_event(number),
    }


def unsettled_of(packed: pa.Table) -> Mapping[int, int]:
    """Returns by partition the number of events among the packed rows whose step is not that of their arrival."""
    rows = packed.filter(pc.equal(packed[c.GROUPING], RISE))
    events = Counter[int]()
    for partition, count in zip(rows[GROUP].to_pylist(), rows[c.RECORDS].to_pylist(), strict=True):
        events[partition] += count
    return +events


def rises_of(packed: pa.Table) -> ArrivalRows:
    """Returns the rises among the packed rows of a fold."""
    rows = packed.filter(pc.equal(packed[c.GROUPING], RISE))
    columns = (rows[GROUP], rows[STEP], rows[c.TIME], pc.fill_null(rows[c.MAX_EVENT_TIME], NO_TIME))
    return ArrivalRows(*(column.to_numpy().astype(np.int64) for column in columns))
