"""Rows of `panes`, `dead_letters` and `event_ids`, made on the driver from the small result of a fold."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline import columns as c
from tidemark.pipeline import ddsketch, value_lists
from tidemark.pipeline.decoding.wire_format import reasons_by_schema
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.arrival import of_watermarks
from tidemark.pipeline.event_time.checks import DETAILS, Check, reason_of
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.event_time.field_measures import NUMBERS, SKETCHES, TEXT_OF, TEXTS
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import PANE_KEYS
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.base import Windows
from tidemark.pipeline.fold.grouping_sets import SKETCH_OF, Groupings, sketched_keys
from tidemark.pipeline.fold.rejected_fields import USER
from tidemark.pipeline.measures import PARTS, Join, Part
from tidemark.pipeline.sketches import sketch_of

_IN_TIME_FROM: Final = "in_time_from"
_ORDER: Final = (c.FIRST_TIME, c.RECORD_POSITION)
"""The columns of an event's own row that order events."""
_OPTIONAL_COLUMNS: Final = {
    **dict.fromkeys(PANE_KEYS, pa.string()),
    **dict.fromkeys((c.RECORD_POSITION, c.SESSIONS, c.WINDOW_START_MS, c.WINDOW_END_MS), pa.int64()),
    **{part.name: pa.type_for_alias(part.type) for part in PARTS},
    **dict.fromkeys(NUMBERS, pa.int64()),
    **dict.fromkeys(TEXTS, pa.string()),
    **dict.fromkeys(SKETCHES, pa.binary()),
}
"""Columns of `panes` that are null if a consumer does not need them."""


def panes(
    folded: pa.Table, consumers: Sequence[Consumer], groups: Groupings, batch: int, watermark: int | None
) -> pa.Table:
    """Returns the partial counts of all consumers, with the batch id and the watermark in milliseconds.

    `watermark` is that before the batch; it judges rows if `folded` has no column `watermark` with that of each row.
    """
    earliest, made = pc.min(folded[c.PANE_START]).as_py() or 0, dict[object, pa.Table]()
    tables = []
    for consumer in consumers:
        # By hour and by day, events of a batch are the same rows, unless some are too late for one of them.
        in_time_from = max(lateness.in_time_from(consumer, watermark), earliest)
        read = groups.reads(consumer), *map(consumer.stored, consumer.fold_keys)
        alike = (*read, consumer.pane_keys, consumer.parts, consumer.pane_ms, consumer.shift_ms)
        key = consumer.name if c.WATERMARK in folded.column_names else (alike, consumer.keeps_events, in_time_from)
        made[key] = rows = made[key] if key in made else _rows(folded, consumer, groups, watermark)
        tables.append(_panes(rows, consumer, batch, watermark))
    return pa.concat_tables(tables)


def _rows(folded: pa.Table, consumer: Consumer, groups: Groupings, watermark: int | None) -> pa.Table:
    """Returns the panes, keys and parts of a consumer's rows."""
    in_time_from: Any = lateness.in_time_from(consumer, watermark)
    # A filter copies all columns, most of which are other consumers' or rejected records'.
    read = _columns_read(consumer)
    folded = folded.select([name for name in folded.column_names if name in read])
    if c.WATERMARK in folded.column_names:
        in_time_from = pc.field(_IN_TIME_FROM)
        by_row = of_watermarks(folded[c.WATERMARK].to_numpy(), partial(lateness.in_time_from, consumer))
        folded = folded.append_column(_IN_TIME_FROM, pa.array(by_row))
    rows = _counts(folded.filter(groups.belongs(consumer, in_time_from, pc.field)), consumer, groups)
    return _added_up(rows, consumer) if groups.adds_up(consumer) else _with_own_sketches(rows, consumer)


def _panes(rows: pa.Table, consumer: Consumer, batch: int, watermark: int | None) -> pa.Table:
    """Returns rows with what does not depend on their events."""
    closed_until = _constant(lateness.closed_until(consumer, watermark), rows)
    if c.WATERMARK in rows.column_names:
        closed_until = pa.array(of_watermarks(rows[c.WATERMARK].to_numpy(), partial(lateness.closed_until, consumer)))
    constants = {
        c.BATCH: _constant(batch, rows),
        c.REPORT: _constant(consumer.name, rows),
        c.WATERMARK: _constant(rules.as_number(watermark), rows),
        c.CLOSED_UNTIL: closed_until,
    }
    nulls = {name: pa.nulls(len(rows), kind) for name, kind in _OPTIONAL_COLUMNS.items()}
    windows = {} if isinstance(consumer, UserTotals) else _window_bounds(rows[c.PANE_START], consumer.windows)
    return pa.table({**nulls, **constants, **windows, **{name: rows[name] for name in rows.column_names}})


def _counts(rows: pa.Table, consumer: Consumer, groups: Groupings) -> pa.Table:
    """Returns the pane, keys and parts of a consumer's groups, and record positions if it folds events."""
    is_late = pc.is_in(rows[c.FLAGS], pa.array(groups.late(consumer), pa.int32()))
    position, of_values = [c.RECORD_POSITION] if consumer.folds_events else [], _of_values(consumer)
    pane, shift_ms, pane_ms = rows[c.PANE_START], consumer.shift_ms, consumer.pane_ms
    if not consumer.keeps_events:  # the consumer's panes are unions of the fold's
        pane = pc.subtract(pc.multiply(pc.divide(pc.add(pane, shift_ms), pane_ms), pane_ms), shift_ms)
    return pa.table(
        {
            c.PANE_START: pane,
            **{consumer.stored(name): rows[name] for name in (*stored_keys(consumer), *position)},
            **{part.fold: rows[part.fold] for part in of_values},
            **{part.name: rows[_column(part)] for part in consumer.parts if part not in of_values},
            c.LATE_EVENTS: pc.if_else(is_late, rows[c.RECORDS], 0),
            **({c.WATERMARK: rows[c.WATERMARK]} if c.WATERMARK in rows.column_names else {}),
        }
    )


def _columns_read(consumer: Consumer) -> set[str]:
    """Returns the columns of a fold that a consumer's panes are made of; only some folds have all of them."""
    of_values = _of_values(consumer)
    parts = {part.fold if part in of_values else _column(part) for part in consumer.parts}
    own = {c.GROUPING, c.CHECK, c.FLAGS, c.PANE_START, c.RECORDS, c.WATERMARK, c.RECORD_POSITION}
    return {*own, *stored_keys(consumer), *parts}


def stored_keys(consumer: Consumer) -> list[str]:
    """Returns the keys of a consumer's fold that its panes may have: measures of texts have them in their parts."""
    sketched = sketched_keys(consumer)
    return [key for key in consumer.fold_keys if not key.startswith(TEXT_OF) and key not in sketched]


def _of_values(consumer: Consumer) -> list[Part]:
    """Returns the parts that are sketches or lists of the values in a column of a fold."""
    sketched = sketched_keys(consumer)
    return [part for part in consumer.parts if part.join.is_sketch and part.fold not in sketched]


def _column(part: Part) -> str:
    """Returns the column of a fold that has a part."""
    return f"{SKETCH_OF}{part.fold}" if part.join.is_sketch else part.folded


def _sketch_of(
    part: Part,
    values: Sequence[str | None],
    counts: Sequence[int],
    times: Sequence[int] = (),
    positions: Sequence[int] = (),
) -> bytes:
    """Returns the sketch or the list of `values` of a fold, which may be null, and how many events have each.

    The list of a path needs the time and the record position of each event.
    """
    match part.join:
        case Join.SKETCH:
            return sketch_of(filter(None, values))
        case Join.SET:
            return value_lists.set_of((value for value in values if value is not None), part.most)
        case Join.PATH:
            events = zip(times, positions, values, strict=True)
            return value_lists.path_of([(time, at, text) for time, at, text in events if text is not None], part.most)
    buckets = [(int(value), count) for value, count in zip(values, counts, strict=True) if value is not None]
    return ddsketch.sketch_of(*zip(*buckets, strict=True)) if buckets else b""


def _with_own_sketches(rows: pa.Table, consumer: Consumer) -> pa.Table:
    """Replaces the values in rows of one event each by sketches."""
    of_values = _of_values(consumer)
    for part in of_values:
        if part.join is Join.PATH:
            columns = (rows[name].to_pylist() for name in (part.fold, c.EVENTS, *_ORDER))
            paths = [_sketch_of(part, *([value] for value in row)) for row in zip(*columns, strict=True)]
            rows = rows.append_column(part.name, pa.array(paths, pa.binary()))
            continue
        encoded = rows[part.fold].combine_chunks().dictionary_encode(null_encoding="encode")
        sketches = [_sketch_of(part, [value], [1]) for value in encoded.dictionary.to_pylist()]
        sketch = pc.take(pa.array(sketches, pa.binary()), encoded.indices)
        rows = rows.append_column(part.name, sketch)
    return rows.drop_columns([part.fold for part in of_values if part.fold.startswith(TEXT_OF)])


def _added_up(rows: pa.Table, consumer: Consumer) -> pa.Table:
    """Adds up rows that differ only in keys that the panes of `consumer` lack; values of a sketch become one."""
    by = [c.PANE_START, *consumer.pane_keys, *({c.WATERMARK} & {*rows.column_names})]
    sketched = _of_values(consumer)
    functions = {part.name: part.join.value for part in consumer.parts if not part.join.is_sketch}
    functions |= {c.LATE_EVENTS: "sum"}
    order = _ORDER if consumer.folds_events else ()
    listed = [
        (name, "list") for name in dict.fromkeys([c.EVENTS, *(part.fold for part in sketched), *order]) if sketched
    ]
    groups = rows.group_by(by).aggregate([*functions.items(), *listed])
    sums = {name: groups[name] for name in by}
    sums |= {name: groups[f"{name}_{function}"] for name, function in functions.items()}
    for part in sketched:
        columns = (groups[f"{name}_list"].to_pylist() for name in (part.fold, c.EVENTS, *order))
        sums[part.name] = pa.array(map(partial(_sketch_of, part), *columns), pa.binary())
    return pa.table(sums)


def _window_bounds(panes: pa.ChunkedArray, windows: Windows) -> dict[str, pa.Array]:
    """Returns the bounds of each pane's window, if readers of panes cannot compute them."""
    if not windows.panes_store_bounds:
        return {}
    encoded = panes.combine_chunks().dictionary_encode()
    pane_windows = [next(windows.of(pane)) for pane in encoded.dictionary.to_pylist()]
    bounds = {
        c.WINDOW_START_MS: [start for start, _ in pane_windows],
        c.WINDOW_END_MS: [end for _, end in pane_windows],
    }
    return {name: pc.take(pa.array(times, pa.int64()), encoded.indices) for name, times in bounds.items()}


def event_ids(ids: Ids, batch: int) -> pa.Table:
    """Returns rows of `event_ids` for the ids of a batch's counted events."""
    rows = pa.table({c.ID_HIGH: ids.high, c.ID_LOW: ids.low, c.EVENT_TIME: ids.time})
    return rows.append_column(c.BATCH, _constant(batch, rows))


def dead_letters(
    folded: pa.Table, topic: str, batch: int, watermark: int | None, unusable: Mapping[int, str]
) -> pa.Table:
    """Returns rows of `dead_letters`: rejected records with bytes, reason, and the watermark that judged them.

    `watermark` is that before the batch; it judged all if `folded` has no column `watermark` with that of each record.
    Only the row of a rejected record has an offset. `unusable` are reasons why schemas cannot be used, by schema id.
    """
    rejected = folded.filter(pc.field(c.OFFSET).is_valid())
    details = pc.take(pa.array([DETAILS[check] for check in Check]), rejected[c.CHECK])
    if unusable:
        is_of_schema = pc.equal(rejected[c.CHECK], int(Check.SCHEMA_ID))
        reasons = reasons_by_schema(rejected[c.VALUE], unusable)
        details = pc.if_else(is_of_schema, pc.coalesce(reasons, details), details)
    unchanged = (c.PARTITION, c.OFFSET, c.KAFKA_TIMESTAMP, c.EVENT_TIME, c.KEY, c.VALUE)
    return pa.table(
        {
            c.REASON: pc.take(pa.array([reason_of(check) for check in Check]), rejected[c.CHECK]),
            c.DETAIL: details,
            c.TOPIC: _constant(topic, rejected),
            c.USER_ID: rejected[USER],
            c.WATERMARK: _watermarks(rejected, watermark),
            c.BATCH: _constant(batch, rejected),
            **{name: rejected[name] for name in unchanged},
        }
    )


def _watermarks(rejected: pa.Table, watermark: int | None) -> Any:
    if c.WATERMARK not in rejected.column_names:
        return _constant(watermark, rejected)
    own = rejected[c.WATERMARK]
    return pc.if_else(pc.equal(own, rules.NO_WATERMARK), None, own)


def _constant(value: Any, rows: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(value), len(rows))
