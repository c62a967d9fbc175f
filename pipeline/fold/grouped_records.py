"""The second half of a fold: groups judged records by several sets of keys at once, in Java and without a shuffle.

`connector/tidemark/FoldRecords.java` finds groups by numbers that stand for texts: a further set of keys costs little.
"""

import json
import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.fold.grouping_sets import Groupings, Output, OutputRows
from tidemark.pipeline.fold.packed import CHECKS, GROUP
from tidemark.pipeline.fold.record_columns import AGE, MOVING_TIME
from tidemark.pipeline.fold.rejected_fields import REJECTED
from tidemark.pipeline.measures import Part
from tidemark.pipeline.runtime.pyspark_internals import Selection, applied, java_packages

STATISTICS: Final = -1
"""The grouping of rows that count all records, by packed number and age."""
REJECTED_RECORD: Final = -2
"""The grouping of rows with the fields of a rejected record."""


class RowsOfOutput(NamedTuple):
    """The texts in the packed rows of one output."""

    rows: OutputRows
    texts: Sequence[str]
    """The columns from which first and last texts are chosen; a row stores a text after its time."""


class GroupedRecords:
    """Groups the records of batch after batch by the same sets of keys."""

    def __init__(
        self, groupings: Groupings, consumers: Sequence[Consumer], partitions: int, *, by_arrival: bool = False
    ) -> None:
        """Groups for the panes of `consumers`, by `groupings` that were made of them; the topic has `partitions`.

        `by_arrival` keeps the columns that lateness by arrival needs; `apply` then needs its state.
        """
        own = [
            [consumer for consumer in consumers if groupings.of(consumer) == index]
            for index in range(len(groupings.outputs))
        ]
        used = (part for consumer in consumers for part in consumer.parts if not part.join.is_sketch)
        parts = {part.folded: part for part in used}
        self._aggregates = [*dict.fromkeys(aggregate for part in parts.values() for aggregate in part.aggregates)]
        # The operator takes the time of a text from the first input.
        time = [c.TIME] if any(aggregate.join.is_of_text for aggregate in self._aggregates) else []
        self._inputs = [*dict.fromkeys([*time, *(aggregate.input for aggregate in self._aggregates)])]
        of_arrival = [c.PARTITION, c.KAFKA_TIMESTAMP, c.TIME] if by_arrival else []
        names = [GROUP, REJECTED, MOVING_TIME, AGE, *groupings.keys, *self._inputs, *of_arrival]
        self._judged = Selection([*map(F.col, names)])
        numbered = {key: index for index, key in enumerate(groupings.keys)}
        self._spec = {
            "keys": len(numbered),
            "sets": [
                {"keys": [numbered[key] for key in keys], "of_events": c.RECORD_POSITION in keys}
                for keys in groupings.sets
            ],
            "outputs": [
                self._output(output, numbered, groupings, readers)
                for output, readers in zip(groupings.outputs, own, strict=True)
            ],
            "panes": {
                "radix": (partitions * CHECKS) << len(groupings.flags),
                "ms": groupings.pane_ms,
                "shift_ms": groupings.shift_ms,
            },
            "aggregates": [
                {"name": aggregate.name, "join": aggregate.join, "input": self._inputs.index(aggregate.input)}
                for aggregate in self._aggregates
            ],
            "flag_bits": len(groupings.flags),
            "checks": CHECKS,
            "last_counted": int(Check.PARTLY_LATE),
        }
        self.rows_of_outputs = [
            RowsOfOutput(output.rows, _text_columns(readers))
            for output, readers in zip(groupings.outputs, own, strict=True)
        ]
        self.part_names = [*parts]
        self.part_columns = [_part_column(part, own) for part in parts.values()]
        """The columns of the parts over the rows that `apply` returns."""

    def apply(self, keyed: DataFrame, arrival: Mapping[str, Any] | None = None) -> DataFrame:
        """Returns a row per group of an output and task, per rejected record, and per packed number and rough age.

        Columns: `grouping` (the index of the output, or one of the constants), the packed number, the struct of a
        rejected record, the keys, `records`, the aggregates, the sketches, and for statistics `max_event_time` and
        `age_ms`. A task with many groups or little memory returns a group in several rows. With `arrival` (see
        `arrival_spec`) records that may be late are rows of their own.
        """
        return fold_records(self._judged.apply(keyed), self._spec | ({} if arrival is None else {"arrival": arrival}))

    def _output(
        self, output: Output, numbered: Mapping[str, int], groupings: Groupings, readers: Sequence[Consumer]
    ) -> dict[str, Any]:
        bits = [groupings.flag_bits(consumer) for consumer in readers]
        used = {aggregate for consumer in readers for part in consumer.parts for aggregate in part.aggregates}
        return {
            "set": output.rows.set,
            "keys": [numbered[key] for key in output.rows.keys],
            "sketched": [numbered[key] for key in output.rows.sketched],
            "readers": [{"wanted": flags.wanted, "barred": flags.barred} for flags in bits],
            "flag_mask": reduce(operator.or_, (flags.seen for flags in bits)),
            "aggregates": [index for index, aggregate in enumerate(self._aggregates) if aggregate in used],
            "pane_ms": 0 if output.pane_ms == groupings.pane_ms else output.pane_ms,
            "shift_ms": output.shift_ms,
        }


def fold_records(judged: DataFrame, spec: Mapping[str, Any]) -> DataFrame:
    """Returns the folded rows of judged records: `spec` has the fields of `FoldSpec.java`, which names the columns."""
    java: Any = java_packages(judged.sparkSession).tidemark
    return applied(java.FoldRecords.apply, judged, json.dumps(spec))


def _text_columns(readers: Sequence[Consumer]) -> list[str]:
    used = (aggregate for consumer in readers for part in consumer.parts for aggregate in part.aggregates)
    return [*dict.fromkeys(aggregate.input for aggregate in used if aggregate.join.is_of_text)]


def _part_column(part: Part, own: Sequence[Sequence[Consumer]]) -> Column:
    """Returns the values of a part, null in rows of outputs whose consumers do not have it."""
    names = [{each.folded for consumer in consumers for each in consumer.parts} for consumers in own]
    outputs = [index for index, of_output in enumerate(names) if part.folded in of_output]
    return F.when(F.col(c.GROUPING).isin(outputs), F.expr(part.fold)).alias(part.folded)
