"""The documentation of every table and column, which Delta stores with the data; `docs/tables.md` is generated from it.

Tables have exactly the columns that this module documents, in this order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import STORED
from tidemark.pipeline.event_time.field_measures import NUMBERS, SKETCHES, TEXTS
from tidemark.pipeline.event_time.reports import PANE_KEYS, Report
from tidemark.pipeline.measures import PARTS

COMMENT: Final = "comment"
"""The key of a column's metadata from which Delta and all engines read its comment."""
STATE: Final = "state"
"""The column of live views with the state of the row."""
_TIME: Final = "Milliseconds since 1970-01-01T00:00:00Z: "


@dataclass(frozen=True, slots=True)
class About:
    """The documentation of a table, in sentences."""

    row: str
    """The content of one row."""
    key: tuple[str, ...]
    """Columns whose values are unique among committed rows; empty for count windows, which may have equal bounds."""
    changes: str
    """When a row changes."""
    final: str
    """How to read only rows that no longer change."""
    columns: Mapping[str, str]

    @property
    def description(self) -> str:
        """The comment of the table."""
        keyed = f"Key: {', '.join(self.key)}." if self.key else "Rows have no key: windows may have the same bounds."
        return f"{self.row} {keyed} {self.changes} {self.final}"


def comment_of(field: pa.Field) -> str:
    """Returns the comment of a column, empty if it has no comment."""
    comment: bytes = (field.metadata or {}).get(COMMENT.encode(), b"")
    return comment.decode()


def timestamp_comment(field: pa.Field) -> str | None:
    """Returns the comment of a column in milliseconds for a view with timestamps; None for any other column."""
    comment = comment_of(field)
    text = comment.removeprefix(_TIME)
    return None if text == comment else text[0].upper() + text[1:]


_UNCOMMITTED: Final = "Rows of a batch that is not in the ledger are uncommitted: ignore them."
_COMMITTED: Final = "`batch IN (SELECT batch FROM ledger)` selects the committed rows at any time."
FINAL: Final = "Every row is final."
"""The text on a table whose rows never change."""
_POSITION: Final = {
    c.TOPIC: "Kafka topic of the record.",
    c.PARTITION: "Kafka partition of the record.",
    c.OFFSET: "Offset of the record in its partition.",
}
_KEYS: Final = {
    c.USER_ID: "`user_id` of the event.",
    c.PAGE_URL: "`page_url` of the event.",
    c.EVENT_TYPE: "`event_type` of the event: visit, click, or another kind of `schemas.mapping.kinds`.",
}
_DIMENSIONS: Final = {
    name: f"Dimension {number} of the report, in the order of their names, as text."
    for number, name in enumerate(STORED, 1)
}
_VALUES: Final = {
    **{name: f"Number {number} of the report's measures of fields." for number, name in enumerate(NUMBERS, 1)},
    **{name: f"Text {number} of the report's measures of fields, with time." for number, name in enumerate(TEXTS, 1)},
    **{name: f"Sketch {number} of the report's measures of fields." for number, name in enumerate(SKETCHES, 1)},
}

LEDGER: Final = About(
    row="A Kafka partition in a batch: the offsets that the service read, and the verdicts on its records.",
    key=(c.BATCH, c.TOPIC, c.PARTITION),
    changes="A row never changes. A batch is committed once its rows are in this table.",
    final=FINAL,
    columns={
        c.BATCH: "Id of the batch: epoch * 1,000,000,000 + its index in the epoch. Index 0 opens the epoch.",
        "epoch": "Number of the run of the service that committed the batch, from 1.",
        c.TOPIC: "Kafka topic.",
        c.PARTITION: "Kafka partition.",
        "from_offset": "First offset of the batch.",
        "to_offset": "Offset after the last one of the batch: to_offset - from_offset = records + gap + lost.",
        c.RECORDS: "Records read: records = counted + too_late + future + malformed + duplicate + erased + left_out.",
        "counted": "Records counted, in every window for which they were not too late.",
        "partly_late": "Counted records that were too late for some of their windows: for these they are dead letters.",
        "too_late": "Records too late for all of their windows.",
        "future": "Records with a time further ahead of the clock than allowed.",
        "malformed": "Records that are not a valid event.",
        "duplicate": "Records that repeat a counted event; null in rows of versions without deduplication.",
        "erased": "Records of erased users, which are dropped; null in rows of versions that did not drop them.",
        "left_out": "Records of kinds that are not mapped; null in rows of versions that did not leave them out.",
        "gap": "Offsets without a record, because of aborted transactions or log compaction.",
        "lost": "Offsets whose records Kafka deleted before the service read them.",
        c.MAX_EVENT_TIME: f"{_TIME}highest time so far that moves the watermark; null before the first event.",
        "watermark_before": f"{_TIME}watermark before the batch: it judged the records, unless arrival decides.",
        c.WATERMARK: f"{_TIME}watermark after the batch: windows up to it have fired; null before the first watermark.",
        "committed_at": f"{_TIME}when the batch was committed, by the service's clock.",
        "slack": (
            "Counted events that were nearly too late: `records` of them would have been with a watermark higher by "
            "`slack_ms` milliseconds."
        ),
        "arrived_before": (
            f"{_TIME}all records that arrived before it are in this batch or an earlier one; null unless records are "
            "judged by arrival."
        ),
        "first_arrival": f"{_TIME}when the first event of the topic arrived; null unless judged by arrival.",
        "last_arrival": f"{_TIME}when the last event of the partition arrived; null unless judged by arrival.",
        "unsettled": (
            "Events that were not judged at their arrival, so that another reading of the topic may differ: they came "
            "later than `time.settling`, or their Kafka timestamp was ahead of the clock. Null unless arrival decides."
        ),
        "opening": "Only in rows that open an epoch: its rules, as JSON.",
    },
)
DEAD_LETTERS: Final = About(
    row="A record that was rejected, or was too late for some of its windows, with its bytes and the reason.",
    key=(c.TOPIC, c.PARTITION, c.OFFSET),
    changes=f"A row never changes. {_UNCOMMITTED}",
    final=_COMMITTED,
    columns={
        c.REASON: (
            "too_late (for all windows), partly_late (for some; others count it), future, malformed, or erased (of an "
            "erased user: only the position is stored)."
        ),
        c.DETAIL: "The check that failed, as a sentence.",
        **_POSITION,
        c.KAFKA_TIMESTAMP: f"{_TIME}timestamp of the record in Kafka.",
        c.EVENT_TIME: f"{_TIME}time in the event, maybe no valid time; null if it could not be read or was erased.",
        c.USER_ID: "`user_id` of the event; null if it could not be read, or was erased.",
        c.WATERMARK: f"{_TIME}watermark by which it was judged; null before there was one.",
        c.KEY: "Key of the record, unchanged; null if it was erased, or if users have pseudonyms.",
        c.VALUE: (
            "Value of the record, unchanged, after the id of its schema if a header names it; null if it was erased. "
            "If users have pseudonyms: the fields that were read, as JSON; null without a valid event."
        ),
        c.BATCH: "Batch that read it.",
    },
)
CORRECTIONS: Final = About(
    row="A too-late event that `tidemark correct` added to a closed window, or to user_totals.",
    key=(c.REPORT, c.TOPIC, c.PARTITION, c.OFFSET, c.WINDOW_START_MS),
    changes="A row never changes. Soon afterwards the report's table contains the event.",
    final=FINAL,
    columns={
        "correction": "Number of the run that decided it, from 1.",
        "corrected_at": f"{_TIME}when it was decided.",
        c.REPORT: "Name of the report's table.",
        **_POSITION,
        c.EVENT_TIME: f"{_TIME}time of the event by which it counts.",
        c.WINDOW_START_MS: f"{_TIME}start of the window.",
        c.WINDOW_END_MS: f"{_TIME}end of the window, which is not part of it.",
        c.CLOSED_UNTIL: f"{_TIME}end up to which windows were final at that time.",
        **{name: f"{text} Null if it is not a key of the report." for name, text in _KEYS.items()},
        **_DIMENSIONS,
        c.PAGE_VIEWS: "1 for a visit, else 0.",
        c.CLICKS: "1 for a click, else 0.",
        c.LATE_EVENTS: "1.",
        **_VALUES,
    },
)
ERASURES: Final = About(
    row="A table from which `tidemark erase` erased a user, whose id is not stored.",
    key=("erasure", "table"),
    changes="A row never changes.",
    final=FINAL,
    columns={
        "erasure": "Number of the run, from 1.",
        "erased_at": f"{_TIME}time of the erasure.",
        "table": "Name of the table; panes of reports that are not by users keep their counts under another id.",
        "rows": "Rows that were removed, or from which the user was removed.",
        "events": (
            "For reports by users whose rows or panes have each event once, and for user_totals: the counted events of "
            "the user that were removed. Null for other tables."
        ),
    },
)
ERASED_USERS: Final = About(
    row="A user erased by `tidemark erase --drop-later`, whose later events are dropped; stored as a hash.",
    key=("user_hash",),
    changes="A row never changes. `tidemark erase --keep-later` removes it.",
    final="Internal: not meant for readers.",
    columns={
        "user_hash": "HMAC-SHA-256 of the user's id in the tables, with the salt as key: 128 bits, in hexadecimal.",
        "salt": "Random bytes in hexadecimal, equal in all rows.",
        "since": f"{_TIME}time of the erasure.",
    },
)
USER_TOTALS: Final = About(
    row="A user: the sums of all events.",
    key=(c.USER_ID,),
    changes="A row changes with its user's events. Changes are published every `totals.every` of event time.",
    final="No row is final: a further event may always come.",
    columns={
        c.USER_ID: _KEYS[c.USER_ID],
        c.FIRST_SEEN: "Time of the user's first event.",
        c.LAST_SEEN: "Time of the user's last event.",
        c.SESSIONS: "Sessions: one ends after `totals.gap` without an event of the user.",
        c.PAGE_VIEWS: "Visits.",
        c.CLICKS: "Clicks.",
        c.PUBLISHED_BATCH: "Last batch with an event of the user; `tidemark correct` does not change it.",
        c.BUCKET: "Partition of the table, by a hash of the user.",
    },
)
EVENT_SCHEMAS: Final = About(
    row="A schema from the registry, with which events of the topic are written.",
    key=("schema_id",),
    changes="A row is added when the first record with its id comes, or at a start.",
    final="Every row is final: the schema of an id never changes.",
    columns={
        "schema_id": "Id in the registry, a number or a GUID, by which records name the schema.",
        "avro": "The schema as Avro's JSON.",
    },
)
EVENT_IDS: Final = About(
    row="Internal: a counted event, by its event_id, if `deduplicate` is set.",
    key=(c.BATCH, c.ID_HIGH, c.ID_LOW),
    changes=f"A row never changes, and is removed when every window of its event has closed. {_UNCOMMITTED}",
    final=_COMMITTED,
    columns={
        c.BATCH: "Batch that counted it.",
        c.ID_HIGH: "Spark's xxhash64(event_id).",
        c.ID_LOW: "Spark's xxhash64(1, event_id): 64 further bits, by another seed.",
        c.EVENT_TIME: f"{_TIME}time of the event by which it counts.",
    },
)
_PARTS: Final = {
    c.PAGE_VIEWS: "Visits.",
    c.CLICKS: "Clicks.",
    c.EVENTS: "Events of every kind; null in rows of versions that counted visits and clicks only.",
    c.USERS: "Different users, as a HyperLogLog sketch.",
    c.FIRST_TIME: f"{_TIME}the first event.",
    c.LAST_TIME: f"{_TIME}the last event.",
    c.LAST_PAGE: "Time of the latest event in milliseconds with 19 digits, a space, and its page.",
}
PANES: Final = About(
    row="Internal: partial counts of windows that are not final, from which results are computed.",
    key=(c.BATCH, c.REPORT, c.PANE_START, *PANE_KEYS, c.RECORD_POSITION),
    changes=f"Rows are merged, and removed when their windows are final. {_UNCOMMITTED}",
    final="Internal: not meant for readers, who have the live views.",
    columns={
        c.BATCH: "Batch that read the events; the newest batch if rows were merged.",
        c.REPORT: "Name of the report, or user_totals.",
        c.PANE_START: f"{_TIME}start of the pane, a slice of time of which windows are made.",
        **{name: f"{text} Null if the report does not need it." for name, text in _KEYS.items()},
        **_DIMENSIONS,
        c.LATE_EVENTS: "Events that came after a window of the pane had fired.",
        c.WATERMARK: f"{_TIME}watermark before the batch; -2^62 before there was one.",
        c.CLOSED_UNTIL: f"{_TIME}end up to which windows were closed before the batch; -2^62 for no window.",
        c.RECORD_POSITION: "Position of an event in its batch, if each event is a row; null if rows were merged.",
        c.SESSIONS: "For user_totals: the number of final sessions in the row; null if they are not final.",
        c.WINDOW_START_MS: f"{_TIME}start of the window, if the pane does not determine it.",
        c.WINDOW_END_MS: f"{_TIME}end of the window, if the pane does not determine it.",
        **{part.name: _PARTS[part.name] for part in PARTS},
        **_VALUES,
    },
)
_RESULT: Final = {
    c.WINDOW_START: "Start of the window.",
    c.WINDOW_END: "End of the window, which is not part of it.",
    **_KEYS,
    c.PAGE_VIEWS: "Visits in the window.",
    c.CLICKS: "Clicks in the window.",
    c.EVENTS: "Events of every kind in the window.",
    c.UNIQUE_USERS: "Different users in the window: exact up to a few hundred, then with a standard error of 1.6 %.",
    c.SESSIONS_BEGUN: "Sessions of users that started with an event of the row.",
    c.LAST_PAGE_URL: "Page of the latest event.",
    c.FIRST_SEEN: "Time of the first event.",
    c.LAST_SEEN: "Time of the last event.",
    c.DURATION_MS: "Milliseconds from the first to the last event of the session; 0 with one event.",
    c.BOUNCED: "1 if the session has one visit and no click, else 0.",
    c.FIRST_EVENT_MS: f"{_TIME}the first event.",
    c.LAST_EVENT_MS: f"{_TIME}the last event.",
    c.USERS_SKETCH: "unique_users as a HyperLogLog sketch, which Spark can merge: hll_union_agg(users_sketch).",
    c.LAST_PAGE: "Time and last_page_url: of several rows the highest is the latest.",
    c.LATE_EVENTS: "Events that came in a batch after the window had fired.",
    c.PUBLISHED_BATCH: (
        "Last batch that fired the window or had an event of the row. `tidemark correct` does not change it; rows that "
        "it adds have 0."
    ),
}


def about_result(report: Report) -> About:
    """Returns the documentation of a report's table."""
    per = " and ".join(["window", *report.keys])
    condition = f" Only events for which {report.where}." if report.where else ""
    largest = "".join(
        f" Each window has the largest values of {dimension.name} by {report.ranked_by}, at most {dimension.top}, and "
        "all others in one row, or in one of each of the other keys."
        for dimension in report.limited
    )
    measures = [measure.name for measure in report.chosen_measures]
    measures += dict.fromkeys(state for measure in report.chosen_measures for state in measure.states)
    columns = (c.WINDOW_START, c.WINDOW_END, *report.row_keys, *measures, c.LATE_EVENTS, c.PUBLISHED_BATCH)
    texts = _RESULT | {dimension.name: dimension.meaning for dimension in report.dimensions}
    texts |= {
        dimension.others: (
            f"0 in the row of one value of {dimension.name}, which may be null; else the number of its values that the "
            "row is the sum of, and no other row has them."
        )
        for dimension in report.limited
    }
    texts |= {name: text for measure in report.field_measures for name, text in measure.meanings.items()}
    return About(
        row=f"One row per {per}, with the measures of its events.{condition}{largest}",
        key=(c.WINDOW_START, c.WINDOW_END, *report.row_keys) if report.windows.by_time else (),
        changes=(
            "A row is published once the watermark reaches the end of its window (a count window: with its last event; "
            "it never changes, and another may have the same bounds). It changes with each event within the allowed "
            "lateness, which may also merge sessions. After that only `tidemark correct` changes it."
        ),
        final=f"The rows of {report.name}_live whose state is closed or corrected are final.",
        columns={name: texts[name] for name in columns},
    )


def about_live(report: Report) -> About:
    """Returns the documentation of a report's live view."""
    result = about_result(report)
    return About(
        row=f"{result.row} Includes the windows that are still open, and the state of each row.",
        key=result.key,
        changes="It is computed at each query.",
        final="Rows whose state is closed or corrected are final.",
        columns={
            **result.columns,
            STATE: (
                "open (may grow), fired (a late event may change it), closed (final), or corrected (final, with events "
                "that were added afterwards)."
            ),
        },
    )
