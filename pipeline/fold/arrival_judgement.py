"""The driver's judgement of a batch by arrival: the few records that a task could not judge, by W at their step.

Its result has the rows that Spark would give if it had known each record's watermark, so what follows is as in a fold
whose records are judged by the watermark from before the batch.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.arrival import ArrivalRows, ArrivalState, of_watermarks
from tidemark.pipeline.event_time.checks import Check, is_counted
from tidemark.pipeline.event_time.event_ids import Longs
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.fold.arrival_spec import RISE, STEP
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD, STATISTICS
from tidemark.pipeline.fold.grouping_sets import Groupings
from tidemark.pipeline.fold.packed import CHECKS, GROUP
from tidemark.pipeline.fold.rejected_fields import REJECTED


class Judgement:
    """Judges the packed rows of a batch, all at once or in chunks."""

    def __init__(self, before: ArrivalState, rises: ArrivalRows, policy: Policy, groupings: Groupings) -> None:
        """`before` is what earlier batches left, `rises` are those of the batch."""
        self.rises = rises
        self._before, self._policy, self._groupings = before, policy, groupings

    def of(self, packed: pa.Table) -> pa.Table:
        """Returns the rows without rises, and with the `watermark` that judged each (`NO_TIME` without one).

        A row of one record has that of its step, others have that from before the batch. Records that may be late have
        `step` and `time`.
        """
        rows = packed.filter(pc.not_equal(packed[c.GROUPING], RISE))
        steps = pc.fill_null(rows[STEP], self._before.step).to_numpy()
        known, which = np.unique(steps, return_inverse=True)
        watermarks = self._before.watermarks(self.rises, known, self._policy)[which]
        is_doubtful = rows[c.TIME].is_valid()
        rows = rows.append_column(c.WATERMARK, pa.array(watermarks))
        certain, doubtful = (rows.filter(each).drop_columns([c.TIME]) for each in (pc.invert(is_doubtful), is_doubtful))
        if not len(doubtful):
            return certain
        times = rows[c.TIME].filter(is_doubtful).to_numpy()
        verdicts = _Verdicts(times, watermarks[is_doubtful.to_numpy()], self._policy, self._groupings)
        return pa.concat_tables([certain, *_chosen(doubtful, verdicts)])


class _Verdicts:
    """Check and flags of records by their times and watermarks."""

    def __init__(self, times: Longs, watermarks: Longs, policy: Policy, groupings: Groupings) -> None:
        self._flag_bits = len(groupings.flags)
        too_late = times < of_watermarks(watermarks, lambda each: lateness.cutoffs(policy.reports, each).too_late)
        partly = times < of_watermarks(watermarks, lambda each: lateness.cutoffs(policy.reports, each).partly_late)
        partly &= lateness.may_be_partly_late(policy.reports)
        counted = np.where(partly, int(Check.PARTLY_LATE), int(Check.PASSED))
        self.checks = np.where(too_late, int(Check.TOO_LATE), counted)
        self._judged_flags, self._flags = 0, np.zeros(len(times), np.int64)
        for consumer in policy.consumers:
            if consumer.event_ms is not None:
                bits, ends = groupings.flag_bits(consumer), times + consumer.event_ms
                closed_until = of_watermarks(watermarks, lambda each, own=consumer: lateness.closed_until(own, each))  # type: ignore[misc]
                self._put(bits.barred, lateness.is_closed(ends, closed_until))
                self._put(bits.fired, lateness.has_fired(ends, watermarks))

    def _put(self, bit: int, is_set: Longs) -> None:
        self._judged_flags |= bit
        self._flags |= np.where(is_set, bit, 0)

    def packed(self, numbers: Longs) -> Longs:
        """Returns packed numbers with these checks, and with these flags in place of those from before the batch."""
        rest, flags = np.divmod(numbers, 1 << self._flag_bits)
        flags = flags & ~self._judged_flags | self._flags
        return ((rest // CHECKS * CHECKS + self.checks) << self._flag_bits) + flags


def _chosen(doubtful: pa.Table, verdicts: _Verdicts) -> list[pa.Table]:
    """Returns the groups that count a record, its fields if it is late, and its statistics."""
    numbers = pa.array(verdicts.packed(doubtful[GROUP].to_numpy()))
    index = doubtful.column_names.index(GROUP)
    rows = doubtful.set_column(index, doubtful.schema.field(index), numbers)
    is_letter = pc.equal(rows[c.GROUPING], REJECTED_RECORD).to_numpy()
    counts = pa.array(is_counted(verdicts.checks) & ~is_letter)
    is_late = pa.array((verdicts.checks != int(Check.PASSED)) & is_letter)
    statistics = rows.filter(pa.array(is_letter))
    constants = {
        c.GROUPING: pa.array(np.full(len(statistics), STATISTICS), rows.schema.field(c.GROUPING).type),
        REJECTED: pa.nulls(len(statistics), rows.schema.field(REJECTED).type),
    }
    for name, values in constants.items():
        statistics = statistics.set_column(statistics.column_names.index(name), rows.schema.field(name), values)
    return [rows.filter(counts), rows.filter(is_late), statistics]
