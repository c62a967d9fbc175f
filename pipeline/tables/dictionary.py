"""What readers should know of every table and column: Delta keeps it beside the data, `docs/tables.md` is made of it.

A table has the columns that are told of here, in this order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.measures import PARTS

COMMENT: Final = "comment"
"""The key of a column's metadata under which Delta, and each engine that reads it, looks for what a person reads."""
STATE: Final = "state"
"""The column of live views that says what a row is."""
_TIME: Final = "Milliseconds since 1970-01-01T00:00:00Z: "


@dataclass(frozen=True, slots=True)
class About:
    """What a reader should know of a table, in sentences."""

    row: str
    """What one row is."""
    key: tuple[str, ...]
    """Columns of which no two rows that count have the same values."""
    changes: str
    """When a row changes."""
    final: str
    """How to read only what does not change any more."""
    columns: Mapping[str, str]

    @property
    def description(self) -> str:
        """What the table itself says."""
        return f"{self.row} Key: {', '.join(self.key)}. {self.changes} {self.final}"


def comment_of(field: pa.Field) -> str:
    """What a column says it is; empty where it says nothing."""
    told: bytes = (field.metadata or {}).get(COMMENT.encode(), b"")
    return told.decode()


def of_timestamp(field: pa.Field) -> str | None:
    """What a column of times in milliseconds says where it is shown as timestamps; None for any other."""
    comment = comment_of(field)
    told = comment.removeprefix(_TIME)
    return None if told == comment else told[0].upper() + told[1:]


_VOID: Final = "Rows of a batch that the ledger does not have are void."
_COMMITTED: Final = "`batch IN (SELECT batch FROM ledger)` is exact at any moment."
_WHERE_IT_WAS: Final = {
    c.TOPIC: "Kafka topic of the record.",
    c.PARTITION: "Kafka partition of the record.",
    c.OFFSET: "Offset of the record in its partition.",
}
_KEYS: Final = {
    c.USER_ID: "Who acted: `user_id` of the event.",
    c.PAGE_URL: "Where: `page_url` of the event.",
    c.EVENT_TYPE: "What: `event_type` of the event, visit or click.",
}

LEDGER: Final = About(
    row="A Kafka partition in a batch: what the service read and what became of it.",
    key=(c.BATCH, c.TOPIC, c.PARTITION),
    changes="A row never changes; a batch counts from the moment that its rows are here.",
    final="Every row is final.",
    columns={
        c.BATCH: "Number of the batch: epoch * 1,000,000,000 + its place in the epoch; place 0 opens the epoch.",
        "epoch": "Which life of the service committed it, counted from 1.",
        c.TOPIC: "Kafka topic.",
        c.PARTITION: "Kafka partition.",
        "from_offset": "First offset that the batch took.",
        "to_offset": "Offset after the last one that it took: to_offset - from_offset = records + gap + lost.",
        c.RECORDS: "Records read: records = counted + too_late + future + malformed + duplicate + erased.",
        "counted": "Records counted in every window that they were not too late for.",
        "partly_late": "Of the counted: records too late for some of their windows, which are dead letters for those.",
        "too_late": "Records too late for every window that they belong to.",
        "future": "Records from further ahead of the clock than is allowed.",
        "malformed": "Records that are no event.",
        "duplicate": "Records that repeat an event that was counted; null in rows from before there was the setting.",
        "erased": (
            "Records of users that were erased, whose later events are dropped; null in rows from before that could be."
        ),
        "gap": "Offsets without a record: of aborted transactions, or compacted away.",
        "lost": "Offsets whose records Kafka deleted before they were read.",
        c.MAX_EVENT_TIME: f"{_TIME}highest event time of the partition so far; null before it had one.",
        "watermark_before": f"{_TIME}watermark when the batch began, which judged its records; null for none.",
        c.WATERMARK: f"{_TIME}watermark after the batch: windows that end no later have fired; null for none.",
        "committed_at": f"{_TIME}when the batch was committed, by the service's clock.",
        "slack": (
            "Counted events that were nearly too late: `records` would have been with a watermark higher by `slack_ms` "
            "milliseconds."
        ),
        "opening": "Only in rows that open an epoch: the rules that it goes by, as JSON.",
    },
)
DEAD_LETTERS: Final = About(
    row="A record that was rejected, or missed some of its windows, with its bytes and the reason.",
    key=(c.TOPIC, c.PARTITION, c.OFFSET),
    changes=f"A row never changes. {_VOID}",
    final=_COMMITTED,
    columns={
        c.REASON: (
            "Why: too_late (for all windows), partly_late (for some; it counts in others), future, malformed, erased "
            "(its user was erased and is not wanted back; nothing of the record is kept but its place)."
        ),
        c.DETAIL: "Which check it failed, in a sentence.",
        **_WHERE_IT_WAS,
        c.KAFKA_TIMESTAMP: f"{_TIME}timestamp of the record in Kafka.",
        c.EVENT_TIME: (
            f"{_TIME}what the event says, which may be no time at all; null where it could not be read, or of reason "
            "erased."
        ),
        c.USER_ID: "Who acted; null where it could not be read, or was erased.",
        c.WATERMARK: f"{_TIME}watermark that judged it; null before there was one.",
        c.KEY: "Key of the record, as it was; null where it was erased, or users are known by pseudonyms.",
        c.VALUE: (
            "Value of the record, as it was; null where it was erased. With pseudonyms the fields that were read, as "
            "JSON; null where there is no event."
        ),
        c.BATCH: "Batch that read it.",
    },
)
CORRECTIONS: Final = About(
    row="A too-late event that `tidemark correct` added to a closed window, or to user_totals.",
    key=(c.REPORT, c.TOPIC, c.PARTITION, c.OFFSET, c.WINDOW_START_MS),
    changes="A row never changes. What it says is in the report's table soon after.",
    final="Every row is final.",
    columns={
        "correction": "Number of the run that decided it, counted from 1.",
        "corrected_at": f"{_TIME}when it was decided.",
        c.REPORT: "Name of the report's table.",
        **_WHERE_IT_WAS,
        c.EVENT_TIME: f"{_TIME}time of the event that counts.",
        c.WINDOW_START_MS: f"{_TIME}begin of the window.",
        c.WINDOW_END_MS: f"{_TIME}end of the window, which is not part of it.",
        c.CLOSED_UNTIL: f"{_TIME}up to which end windows were final then.",
        **{name: f"{text} Null where the report has no such key." for name, text in _KEYS.items()},
        c.PAGE_VIEWS: "1 for a visit, else 0.",
        c.CLICKS: "1 for a click, else 0.",
        c.LATE_EVENTS: "1.",
    },
)
ERASURES: Final = About(
    row="A table from which `tidemark erase` took a person; who that was is written nowhere.",
    key=("erasure", "table"),
    changes="A row never changes.",
    final="Every row is final.",
    columns={
        "erasure": "Number of the run, counted from 1.",
        "erased_at": f"{_TIME}when it was done.",
        "table": "Name of the table; of panes those of reports that are not by users, which go on without the name.",
        "rows": "Rows that were removed, or of which the person was taken out.",
        "events": (
            "Of a report by users that has a place for each event, and of user_totals: the person's counted events "
            "that are gone. Null for others."
        ),
    },
)
ERASED_USERS: Final = About(
    row="A user that `tidemark erase --drop-later` erased, whose later events are dropped; a hash says who.",
    key=("user_hash",),
    changes="A row never changes, and goes with `tidemark erase --keep-later`.",
    final="Nothing in it is meant for readers.",
    columns={
        "user_hash": (
            "HMAC-SHA-256 of the id that the tables had of the user, with the salt for its key: the first 128 bits in "
            "hexadecimal."
        ),
        "salt": "Random bytes in hexadecimal, the same in all rows.",
        "since": f"{_TIME}when it was asked for.",
    },
)
USER_TOTALS: Final = About(
    row="A user, over all time.",
    key=(c.USER_ID,),
    changes="What changed is written as event time goes on (`totals.every`); a row changes with its user's events.",
    final="Nothing in it is final: an event may always come.",
    columns={
        c.USER_ID: _KEYS[c.USER_ID],
        c.FIRST_SEEN: "Time of the user's first event.",
        c.LAST_SEEN: "Time of the user's last event.",
        c.SESSIONS: "Sessions: one ends after `totals.gap` without an event of the user.",
        c.PAGE_VIEWS: "Visits.",
        c.CLICKS: "Clicks.",
        c.PUBLISHED_BATCH: "Last batch that brought an event of the user; `tidemark correct` does not change it.",
        c.BUCKET: "The part of the table that the row is in, by a hash of the user: parts are rewritten by themselves.",
    },
)
EVENT_SCHEMAS: Final = About(
    row="A schema that the registry told, by which events of the topic are written.",
    key=("schema_id",),
    changes="A row is added when the first record with its id comes, or at a start.",
    final="Every row is final: an id never means another schema.",
    columns={
        "schema_id": "Id in the registry, and in bytes 1 to 4 of a record's value.",
        "avro": "The schema as Avro's JSON.",
    },
)
EVENT_IDS: Final = About(
    row="Internal: an event that was counted, by its event_id, where `deduplicate` is set.",
    key=(c.BATCH, c.ID_HIGH, c.ID_LOW),
    changes=f"A row never changes, and goes when every window of its event has closed. {_VOID}",
    final=_COMMITTED,
    columns={
        c.BATCH: "Batch that counted it.",
        c.ID_HIGH: "Spark's xxhash64(event_id).",
        c.ID_LOW: "Spark's xxhash64(1, event_id): another 64 bits, for it begins with another seed.",
        c.EVENT_TIME: f"{_TIME}time of the event that counts.",
    },
)
_PARTS: Final = {
    c.PAGE_VIEWS: "Visits.",
    c.CLICKS: "Clicks.",
    c.USERS: "Different users, as a HyperLogLog sketch.",
    c.FIRST_TIME: f"{_TIME}the first event.",
    c.LAST_TIME: f"{_TIME}the last event.",
    c.LAST_PAGE: "Time in milliseconds with 19 digits, a space, and the page of the latest event.",
}
PANES: Final = About(
    row="Internal: partial counts of windows that are not final, which results are made of.",
    key=(c.BATCH, c.REPORT, c.PANE_START, c.USER_ID, c.PAGE_URL, c.EVENT_TYPE, c.RECORD_POSITION),
    changes=f"Rows are merged, and go when their windows are final. {_VOID}",
    final="Nothing in it is meant for readers; the live views show what it says.",
    columns={
        c.BATCH: "Batch that read the events; the newest of several, where rows were merged.",
        c.REPORT: "Name of the report, or user_totals.",
        c.PANE_START: f"{_TIME}begin of the pane, a slice of time that windows are made of.",
        **{name: f"{text} Null where the report does not need it." for name, text in _KEYS.items()},
        c.LATE_EVENTS: "Events that came after a window of the pane had fired.",
        c.WATERMARK: f"{_TIME}watermark before the batch; -2^62 for none.",
        c.CLOSED_UNTIL: f"{_TIME}up to which end windows were closed before the batch; -2^62 for none.",
        c.RECORD_POSITION: "Place of an event in its batch, where each is a row.",
        c.SESSIONS: "In user_totals: how many sessions the row stands for, where they are settled.",
        c.WINDOW_START_MS: f"{_TIME}begin of the window, where the pane does not tell it.",
        c.WINDOW_END_MS: f"{_TIME}end of the window, where the pane does not tell it.",
        **{part.name: _PARTS[part.name] for part in PARTS},
    },
)
_RESULT: Final = {
    c.WINDOW_START: "Begin of the window.",
    c.WINDOW_END: "End of the window, which is not part of it.",
    **_KEYS,
    c.PAGE_VIEWS: "Visits in the window.",
    c.CLICKS: "Clicks in the window.",
    c.UNIQUE_USERS: "Different users in the window: exact up to a few hundred, then with a standard error of 1.6 %.",
    c.SESSIONS_BEGUN: "Sessions of a user that began with an event of the row.",
    c.LAST_PAGE_URL: "Page of the latest event.",
    c.FIRST_SEEN: "Time of the first event.",
    c.LAST_SEEN: "Time of the last event.",
    c.USERS_SKETCH: "unique_users as a HyperLogLog sketch, which Spark can merge: hll_union_agg(users_sketch).",
    c.LAST_PAGE: "last_page_url behind its time: of several rows the highest is the latest.",
    c.LATE_EVENTS: "How many of the events came in a batch that began after the window had fired.",
    c.PUBLISHED_BATCH: (
        "Last batch that fired the window or brought the row an event; `tidemark correct` does not change it, and "
        "gives 0 to rows that it adds."
    ),
}


def of_result(report: Report) -> About:
    """The table of a report."""
    per = " and ".join(["window", *report.keys])
    among = f" Only events for which {report.where}." if report.where else ""
    measures = [one.name for one in report.chosen_measures] + [one.state for one in report.chosen_measures if one.state]
    columns = (c.WINDOW_START, c.WINDOW_END, *report.keys, *measures, c.LATE_EVENTS, c.PUBLISHED_BATCH)
    return About(
        row=f"A row per {per}, with what its events add up to.{among}",
        key=(c.WINDOW_START, c.WINDOW_END, *report.keys),
        changes=(
            "A row is there once the watermark has reached the end of its window (of a count window: once it is full), "
            "and changes with each event that comes within the allowed lateness; sessions may then grow together. "
            "After that only `tidemark correct` changes it."
        ),
        final=f"The rows of {report.name}_live whose state is closed or corrected are final.",
        columns={name: _RESULT[name] for name in columns},
    )


def of_live(report: Report) -> About:
    """The live view of a report."""
    shown = of_result(report)
    return About(
        row=f"{shown.row} With the windows that are open so far, and what each row is.",
        key=shown.key,
        changes="It is asked anew each time.",
        final="Rows whose state is closed or corrected are final.",
        columns={
            **shown.columns,
            STATE: "open (it goes on), fired (a late event may change it), closed (final), or corrected (final, with "
            "events that were added afterwards).",
        },
    )
