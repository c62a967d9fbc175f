"""Panes and dead letters, made on the driver of the small result of a fold."""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.checks import DETAILS, Check, reason_of
from pipeline.event_time.event_ids import Ids
from pipeline.event_time.policy import Consumer
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.base import Windows
from pipeline.fold.grouping_sets import KEYS, Groupings
from pipeline.measures import PARTS, Join
from pipeline.sketches import sketch_of

_KEPT_BY_SOME: Final = {
    **dict.fromkeys(KEYS, pa.string()),
    **dict.fromkeys((c.RECORD_POSITION, c.SESSIONS, c.WINDOW_START_MS, c.WINDOW_END_MS), pa.int64()),
    **{part.name: pa.type_for_alias(part.type) for part in PARTS},
}
"""Columns of `panes` that are null where a consumer does not need them."""


def panes(
    folded: pa.Table, consumers: Sequence[Consumer], groups: Groupings, batch: int, watermark: int | None
) -> pa.Table:
    """Rows of `panes`: every consumer's partial counts, with the batch and the watermark from before it."""
    return pa.concat_tables([_panes(folded, one, groups, batch, watermark) for one in consumers])


def _panes(folded: pa.Table, consumer: Consumer, groups: Groupings, batch: int, watermark: int | None) -> pa.Table:
    rows = _counts(folded.filter(groups.belongs(consumer, watermark, pc.field)), consumer, groups)
    if groups.adds_up(consumer):
        rows = _added_up(rows, consumer)
    fixed = {
        c.BATCH: _same(batch, rows),
        c.REPORT: _same(consumer.name, rows),
        c.WATERMARK: _same(rules.as_number(watermark), rows),
        c.CLOSED_UNTIL: _same(lateness.closed_until(consumer, watermark), rows),
    }
    nothing = {name: pa.nulls(len(rows), kind) for name, kind in _KEPT_BY_SOME.items()}
    windows = _windows(rows[c.PANE_START], consumer.windows) if isinstance(consumer, Report) else {}
    return pa.table({**nothing, **fixed, **windows, **{name: rows[name] for name in rows.column_names}})


def _counts(rows: pa.Table, consumer: Consumer, groups: Groupings) -> pa.Table:
    """A consumer's groups: pane, keys and parts, and of single events their record position."""
    late = pc.is_in(rows[c.FLAGS], pa.array(groups.late(consumer), pa.int32()))
    position = [c.RECORD_POSITION] if consumer.by_event else []
    pane, shift_ms, pane_ms = rows[c.PANE_START], consumer.shift_ms, consumer.pane_ms
    if not consumer.by_event:  # its own panes, of which the fold's are parts
        pane = pc.subtract(pc.multiply(pc.divide(pc.add(pane, shift_ms), pane_ms), pane_ms), shift_ms)
    return pa.table(
        {
            c.PANE_START: pane,
            **{name: rows[name] for name in (*consumer.fold_keys, *position)},
            **{part.name: rows[part.name] for part in consumer.parts if part.join is not Join.SKETCH},
            c.LATE_EVENTS: pc.if_else(late, rows[c.RECORDS], 0),
        }
    )


def _added_up(rows: pa.Table, consumer: Consumer) -> pa.Table:
    """A row for each pane and what it is kept by, from groups of more keys; what is no key may become a sketch."""
    sketched = [part for part in consumer.parts if part.join is Join.SKETCH]
    how = {part.name: part.join.value for part in consumer.parts if part not in sketched}
    how |= {c.LATE_EVENTS: "sum", **{part.fold: "list" for part in sketched}}
    found = rows.group_by([c.PANE_START, *consumer.pane_keys]).aggregate(list(how.items()))
    added = {name: found[name] for name in (c.PANE_START, *consumer.pane_keys)}
    added |= {name: found[f"{name}_{function}"] for name, function in how.items() if function != "list"}
    for part in sketched:
        sketches = map(sketch_of, found[f"{part.fold}_list"].to_pylist())
        added[part.name] = pa.array(sketches, pa.binary())
    return pa.table(added)


def _windows(panes: pa.ChunkedArray, windows: Windows) -> dict[str, pa.Array]:
    """The window of each pane, where a reader of panes could not tell it."""
    if not windows.panes_tell_windows:
        return {}
    known = panes.combine_chunks().dictionary_encode()
    found = [next(windows.of(pane)) for pane in known.dictionary.to_pylist()]
    bounds = {c.WINDOW_START_MS: [start for start, _ in found], c.WINDOW_END_MS: [end for _, end in found]}
    return {name: pc.take(pa.array(times, pa.int64()), known.indices) for name, times in bounds.items()}


def event_ids(ids: Ids, batch: int) -> pa.Table:
    """Rows of `event_ids`: of every event that was counted and has an id."""
    rows = pa.table({c.ID_HIGH: ids.high, c.ID_LOW: ids.low, c.EVENT_TIME: ids.time})
    return rows.append_column(c.BATCH, _same(batch, rows))


def dead_letters(folded: pa.Table, topic: str, batch: int, watermark: int | None) -> pa.Table:
    """Rows of `dead_letters`: every rejected record with its bytes, why, and the watermark that judged it."""
    rejected = folded.filter(pc.field(c.OFFSET).is_valid())
    as_read = (c.PARTITION, c.OFFSET, c.KAFKA_TIMESTAMP, c.EVENT_TIME, c.KEY, c.VALUE)
    return pa.table(
        {
            c.REASON: pc.take(pa.array([reason_of(check) for check in Check]), rejected[c.CHECK]),
            c.DETAIL: pc.take(pa.array([DETAILS[check] for check in Check]), rejected[c.CHECK]),
            c.TOPIC: _same(topic, rejected),
            c.USER_ID: rejected["user"],
            c.WATERMARK: _same(watermark, rejected),
            c.BATCH: _same(batch, rejected),
            **{name: rejected[name] for name in as_read},
        }
    )


def _same(value: Any, rows: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(value), len(rows))
