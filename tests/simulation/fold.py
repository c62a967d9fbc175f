"""A batch's fold by hand: what Spark would have made of its records."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tests.simulation.events import MINUTE, Event, Topic
from tests.simulation.rules import MARKING
from tidemark.pipeline.event_time import rules as event_time
from tidemark.pipeline.event_time.checks import Check, reason_of
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.event_time.lateness import closed_until, cutoffs, in_time_from, is_too_late
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, PANES


class Fold:
    """The records of a batch, judged and added up as Spark's fold does it."""

    def __init__(self, topic: Topic, before: Progress, remembered: RememberedIds | None, size: int) -> None:
        self._policy, self._watermark = before.policy, before.frontier.watermark
        self._too_late, self._partly = cutoffs(self._policy.reports, self._watermark)
        self.ends: dict[int, int] = {}
        self.statistics: list[Statistic] = []
        self.panes: list[dict[str, Any]] = []
        self.letters: list[dict[str, Any]] = []
        self.ids: Ids | None = None
        chosen: list[tuple[int, int, Event]] = []
        for partition, events in enumerate(topic):
            first = before.positions[partition]
            self.ends[partition] = min(first + size, len(events))
            chosen += [(partition, offset, events[offset]) for offset in range(first, self.ends[partition])]
        self.times = [event.time for *_, event in chosen if event.is_event and not event.is_ahead]
        repeated = self._repeated(remembered, chosen)
        for record in chosen:
            self._judge(before.batch_id + 1, record, is_repeated=record[:2] in repeated)

    def _repeated(self, remembered: RememberedIds | None, chosen: list[tuple[int, int, Event]]) -> set[tuple[int, int]]:
        if remembered is None:
            return set()
        asked = [record for record in chosen if record[2].is_event and record[2].time >= self._too_late]
        columns = ([event.event_id for *_, event in asked], [0] * len(asked), [event.time for *_, event in asked])
        ids = Ids(*(np.array(column, dtype=np.int64) for column in columns))
        positions = np.array([(partition << 40) + offset for partition, offset, _ in asked], dtype=np.int64)
        repeated = remembered.repeated(ids, positions, self._too_late)
        self.ids = ids[~repeated]
        return {record[:2] for record, is_repeated in zip(asked, repeated, strict=True) if is_repeated}

    def id_rows(self, number: int) -> pa.Table:
        """The rows of `event_ids`."""
        ids = self.ids
        assert ids is not None
        batch = pa.array([number] * len(ids), pa.int64())
        return pa.table({"id_high": ids.high, "id_low": ids.low, "event_time": ids.time, "batch": batch})

    def _judge(self, number: int, record: tuple[int, int, Event], *, is_repeated: bool) -> None:
        partition, offset, event = record
        check = self._check(event, is_repeated=is_repeated)
        is_counted = check in (Check.PASSED, Check.PARTLY_LATE)
        pane = event.time - event.time % MINUTE if is_counted else None
        is_moving = event.is_event and (not self._policy.strategy.marker or event.user == MARKING)
        newest = event.time if is_moving else None
        self.statistics.append(Statistic(0, partition, int(check), pane, 0, 1, newest, 0))
        if is_counted:
            for consumer in self._policy.consumers:
                self.panes += pane_rows(number, (partition << 40) + offset, event, consumer, self._watermark)
        if check not in (Check.PASSED, Check.DUPLICATE):
            where = {"topic": "t", "partition": partition, "offset": offset, "batch": number}
            rejection = {"watermark": self._watermark, "reason": reason_of(check), "value": letter_of(event)}
            who = {"event_time": event.time, "user_id": event.user} if event.is_event else {}
            self.letters.append({**dict.fromkeys(DEAD_LETTERS.schema.names), **where, **rejection, **who})

    def _check(self, event: Event, *, is_repeated: bool) -> Check:
        if event.is_malformed:
            return Check.TEXT
        if event.is_future:
            return Check.FUTURE
        if event.time < self._too_late:
            return Check.TOO_LATE
        if is_repeated:
            return Check.DUPLICATE
        return Check.PARTLY_LATE if event.time < self._partly else Check.PASSED


def letter_of(event: Event) -> bytes:
    """The value of a dead letter, from which the verbs read the event again."""
    return f"{event.user} {event.time}".encode()


def pane_rows(
    number: int, position: int, event: Event, consumer: Consumer, watermark: int | None
) -> Iterator[dict[str, Any]]:
    """The row of `panes` that a counted event is for a consumer, unless it is too late for that consumer."""
    if is_too_late(event.time, in_time_from(consumer, watermark)):
        return
    windows = consumer.windows if isinstance(consumer, Report) else None
    reached = event_time.as_number(watermark)
    is_late = isinstance(windows, Sessions) and event.time + windows.gap_ms <= reached
    row: dict[str, Any] = {**dict.fromkeys(PANES.schema.names), "batch": number, "report": consumer.name}
    row |= {"page_views": 1, "clicks": 0, "late_events": int(is_late), "user_id": event.user}
    row |= {"watermark": reached, "closed_until": closed_until(consumer, watermark)}
    row["pane_start"] = event.time - event.time % consumer.pane_ms if consumer.pane_ms else event.time
    parts = {part.name for part in consumer.parts}
    row |= {name: event.time for name in ("first_time", "last_time") if name in parts}
    if isinstance(windows, Calendar):
        row["window_start_ms"], row["window_end_ms"] = windows.window(event.time)
    if windows is not None and windows.keeps_events:
        row["record_position"] = position
    yield row
