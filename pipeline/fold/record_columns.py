"""The first half of a fold, as columns: each record with its verdict and what the aggregation reads of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.decode import Reader, empty_events, reader
from tidemark.pipeline.decoding.projection import UNKNOWN_TYPE
from tidemark.pipeline.decoding.wire_format import frame
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.checks import Check, is_counted, moves_watermark
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.fold.conditions import condition_names, fields_and_conditions, own_values
from tidemark.pipeline.fold.dead_letter_reader import stored_keys
from tidemark.pipeline.fold.dimension_columns import named_sql_of, paths_of, sources_of
from tidemark.pipeline.fold.duplicates import id_columns, record_position, require_event_id
from tidemark.pipeline.fold.erased_records import ErasedRecords
from tidemark.pipeline.fold.field_values import counted_columns
from tidemark.pipeline.fold.grouping_sets import Groupings, groupings
from tidemark.pipeline.fold.judge import arrival_of, check_of, readable, time_of
from tidemark.pipeline.fold.packed import GROUP, packed
from tidemark.pipeline.fold.pseudonym_columns import ToPseudonym, require_one_name, stored_bytes
from tidemark.pipeline.fold.rejected_fields import NOT_REJECTED, POSITION, REJECTED, STORED_FIELDS, USER
from tidemark.pipeline.runtime.pyspark_internals import Selection
from tidemark.schemas.fields import CLICK, VISIT, EventSchemas

NOW: Final = "now"
"""The column of the clock at the start of the batch, in milliseconds since 1970."""
AGE: Final = "age"
"""The column of the milliseconds from the Kafka timestamp to the clock at the start of the batch."""
MOVING_TIME: Final = "moving_time"
"""The column of the time that may move the watermark; null if the record cannot."""
_PERSONAL: Final = (c.KEY, c.VALUE, c.EVENT_TIME, USER)
_PARTLY_LATE: Final = "partly_late_before"
_TOO_LATE: Final = "too_late_before"
_OF_BATCH: Final = (c.WATERMARK, _TOO_LATE, _PARTLY_LATE, NOW)
"""The columns that have one value per batch."""


@dataclass(frozen=True, slots=True)
class BatchContext:
    """The watermark and the clock at the start of a batch, both in milliseconds since 1970."""

    watermark: int | None
    now: int


class RecordColumns:
    """Selects the columns of judged records from Kafka rows."""

    def __init__(
        self,
        schemas: EventSchemas,
        policy: Policy,
        partitions: int,
        groupings: Groupings,
        to_pseudonym: ToPseudonym | None,
        erased: ErasedRecords | None,
    ) -> None:
        """Builds the columns; Raises SetUpError if `schemas` lack a field that events or `policy` need."""
        self._by_arrival = policy.by_arrival
        self._reports = policy.reports
        self._partitions = partitions
        self._groupings = groupings
        self._erased = erased
        self._to_pseudonym = to_pseudonym or (lambda user: user)
        self._personal = [dimension.column for dimension in policy.personal_dimensions]
        ids = id_columns() if policy.deduplicate else []
        if ids:
            require_event_id(schemas)
        events = reader(schemas, *needed_fields(policy, stored_keys(schemas) if to_pseudonym else ()))
        self.decoding_plan = events.plan
        """See `Reader.plan`; for `TopicRanges` or `decoded`."""
        if to_pseudonym:
            require_one_name(events.same_as_user)
        paths = [dimension.path for dimension in policy.personal_dimensions]
        self._stored_bytes = stored_bytes(events.names, to_pseudonym, frame(schemas), paths) if to_pseudonym else {}
        self._conditions = condition_names(policy)
        self._read(events, policy, keeps_fields=to_pseudonym is not None)
        time = time_of(policy, F.col(NOW))
        check = self._check_of(schemas, policy, time)
        self._judged = Selection([F.col("*"), time.alias(c.TIME), check.alias(c.CHECK)])
        keyed = [*self._group_columns(), *self._measured_columns(policy), *ids]
        position = F.when(F.col(c.CHECK) != int(Check.PASSED), record_position()).alias(POSITION)
        self._keyed, self._keyed_with_position = Selection(keyed), Selection([*keyed, position])

    def select(self, records: DataFrame, context: BatchContext, *, keeps_apart: bool) -> DataFrame:
        """Returns a row per Kafka record; `keeps_apart` adds the position by which rejected records are found."""
        cutoffs = lateness.cutoffs(self._reports, context.watermark)
        values = (rules.as_number(context.watermark), *cutoffs, context.now)
        of_batch = [
            batch_value(value, self._partitions).alias(name) for name, value in zip(_OF_BATCH, values, strict=True)
        ]
        events = records.select("*", *of_batch)
        for selection in self._flat:
            events = selection.apply(events)
        if self._erased:
            events = self._erased.mark(events, self._to_pseudonym, self._personal)
        keyed = self._keyed_with_position if keeps_apart else self._keyed
        return keyed.apply(self._judged.apply(events))

    def _read(self, events: Reader, policy: Policy, *, keeps_fields: bool) -> None:
        """Builds the columns of decoded events; `keeps_fields` keeps all of their fields."""
        kafka = [c.KEY, c.VALUE, c.PARTITION, c.OFFSET, c.KAFKA_TIMESTAMP]
        others = {name: F.col(name) for name in (*kafka, *_OF_BATCH)}
        has_sql = any(dimension.sql for dimension in policy.dimensions)
        values = own_values(policy, empty_events(SparkSession.active(), events) if has_sql else None)
        self._flat = fields_and_conditions(
            others, events.columns, events.names, self._conditions, values, keeps_fields=keeps_fields
        )

    def _check_of(self, schemas: EventSchemas, policy: Policy, time: Column) -> Column:
        """Returns the code of the first check that a record with this `time` fails, also those that are no fault."""
        check = check_of(schemas, policy, _late_checks(policy, time), F.col(NOW))
        check = self._erased.check(check) if self._erased else check
        if policy.leaves_out_kinds:
            check = F.when(F.col(c.EVENT_TYPE) == UNKNOWN_TYPE, int(Check.OTHER_KIND)).otherwise(check)
        return check

    def _group_columns(self) -> list[Column]:
        """Returns the packed number, the keys, and the stored fields of a rejected record."""
        check, of_panes = F.col(c.CHECK), self._groupings
        pane = F.expr(f"({c.TIME} + {of_panes.shift_ms}) div {of_panes.pane_ms}")
        pane = F.when(is_counted(check), pane).otherwise(0)
        stored = F.struct(*(value.alias(name) for name, value in self._stored_fields().items()))
        user = self._to_pseudonym(F.col(c.USER_ID)).alias(c.USER_ID)
        columns = {c.RECORD_POSITION: record_position(), c.USER_ID: user}
        columns |= {name: self._to_pseudonym(F.col(name)).alias(name) for name in self._personal}
        keys = [columns.get(key, F.col(key)) for key in of_panes.keys]
        # By arrival the operator decides which records are in time.
        without_fields = [each for each in NOT_REJECTED if each != Check.PASSED or not self._by_arrival]
        return [
            packed(pane, self._partitions, [self._conditions.get(flag, flag) for flag in of_panes.flags]).alias(GROUP),
            *keys,
            F.when(~check.isin(*without_fields), stored).alias(REJECTED),
        ]

    def _stored_fields(self) -> Mapping[str, Column]:
        fields = {name: self._stored_bytes.get(name, F.col(name)) for name in STORED_FIELDS}
        fields[USER] = self._to_pseudonym(readable(c.USER_ID))
        if self._erased:
            fields |= {name: F.when(F.col(c.CHECK) != int(Check.ERASED), fields[name]) for name in _PERSONAL}
        return fields

    def _measured_columns(self, policy: Policy) -> list[Column]:
        """Returns the columns that the sums of `policy` read."""
        moves = moves_watermark(F.col(c.CHECK))
        if policy.strategy.marker:
            moves &= F.col(self._conditions[policy.strategy.marker])
        return [
            *((F.col(c.EVENT_TYPE) == kind).cast("long").alias(kind) for kind in (VISIT, CLICK)),
            F.when(moves, _moving_time(policy)).alias(MOVING_TIME),
            (F.col(NOW) - F.col(c.KAFKA_TIMESTAMP)).alias(AGE),
            F.col(c.TIME),
            *counted_columns(policy.field_measures),
            *([F.col(c.PARTITION), _trusted_timestamp(policy)] if self._by_arrival else []),
        ]


class NeededFields(NamedTuple):
    """The fields that a fold reads in addition to those that every event needs."""

    sql: str
    """SQL that names them."""
    paths: Sequence[str]
    """Dotted paths to further fields."""


def needed_fields(policy: Policy, keys: Collection[str] = ()) -> NeededFields:
    """Returns the fields that a fold of `policy` reads, and the `keys`."""
    ids = [c.EVENT_ID] if policy.deduplicate else []
    found, sources = groupings(policy.consumers), sources_of(policy)
    own = [key for key in found.keys if key not in {source.column for source in sources}]
    sql = [policy.strategy.marker, *found.flags, named_sql_of(sources), *own, *keys, *ids]
    return NeededFields(", ".join(filter(None, sql)), paths_of(sources))


def batch_value(value: int, partitions: int) -> Column:
    """Returns a value that changes from batch to batch as a column over rows with a partition below `partitions`.

    A primitive literal would be inlined in the generated code, so every batch would compile new classes and run
    them cold; an array literal is passed by reference.
    """
    return F.expr(f"get(array_repeat({value}L, {partitions}), {c.PARTITION})")


def _late_checks(policy: Policy, time: Column) -> dict[Check, Column]:
    """Returns the checks of `time` against the cutoffs; PARTLY_LATE only if an event can be late for some windows."""
    cutoffs = {Check.TOO_LATE: _TOO_LATE, Check.PARTLY_LATE: _PARTLY_LATE}
    checks = {check: lateness.is_too_late(time, F.col(name)) for check, name in cutoffs.items()}
    if not lateness.may_be_partly_late(policy.reports):
        del checks[Check.PARTLY_LATE]
    return checks


def _trusted_timestamp(policy: Policy) -> Column:
    """Returns the Kafka timestamp of a record, 0 if it cannot be trusted: then the record arrived with those before."""
    own = F.col(c.KAFKA_TIMESTAMP)
    is_trusted = rules.is_arrival(own, F.col(NOW), policy.max_age_ms)
    return F.when(is_trusted, own).otherwise(0).alias(c.KAFKA_TIMESTAMP)


def _moving_time(policy: Policy) -> Column:
    """Returns the time up to which an event may move the watermark."""
    time = F.col(c.TIME)
    return F.least(time, arrival_of(policy, F.col(NOW)), F.col(NOW)) if policy.caps_watermark else time
