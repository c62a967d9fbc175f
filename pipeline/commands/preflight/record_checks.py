"""Checks of the newest records: whether the service would read them as events, and if not, what they look like."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.app import plan_fold, schema_store
from tidemark.pipeline.commands.preflight.check_result import CheckResult, failure, passed, warning
from tidemark.pipeline.decoding.decode import reader
from tidemark.pipeline.decoding.wire_format import FRAME_BYTES
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.tallies import Statistic, Tallies
from tidemark.pipeline.fold.field_values import unread
from tidemark.pipeline.fold.fold_result import InSpark
from tidemark.pipeline.fold.record_columns import BatchContext, needed_fields
from tidemark.pipeline.kafka.clients import librdkafka_client
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.kafka.topic import Topic
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.service.schema_store import SchemaStore
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.schema_settings import MappingSettings
from tidemark.schemas.fields import ID_HEADERS, EventSchemas

_SAMPLE: Final = 1_000
"""The number of records read, over all partitions."""
_LOOKED_AT: Final = 100
_STARTS: Final = {
    b"\xc3\x01": "Avro in single-object encoding",
    b"Obj\x01": "Avro container files",
    b"\x1f\x8b": "gzip",
    b"PK": "zip",
}
_JSON: Final = "JSON"
_LONG_IDS: Final = "Avro with schema ids of eight bytes"
_HEADERS_S: Final = 5.0
_LONG_IDS_START: Final = bytes(FRAME_BYTES)
"""No registry has an id 0."""
_TEXT: Final = {*range(32, 127), *b"\t\n\r"}


def check_records(settings: Settings, topic: Topic, now: Callable[[], int]) -> Iterator[CheckResult]:
    """Judges the newest records as `run` would, except for lateness, by the same reader and the same rules.

    Raises SetUpError if no reader can be made for the schemas.
    """
    spark = spark_session(settings.spark)
    newest = _newest(spark, settings, topic)
    if newest is None:
        yield passed("records", "the topic has no records yet")
        return
    schemas = schema_store(settings)
    tallies, details, records = _judge(schemas, settings, newest, now())
    read, reasons = tallies.total(), _in_words(details, settings.schemas.mapping)
    malformed, valid = tallies.total([Verdict.MALFORMED]), tallies.total([Verdict.COUNTED])
    newest_count = counted(read, "newest record")
    if not read:
        yield warning("records", "the newest offsets of the topic hold no records: they are aborted or compacted")
    elif not valid:
        kind = likely_format(row[c.VALUE] for row in records.select(c.VALUE).limit(_LOOKED_AT).collect())
        cause = _cause(kind, _header_names(newest) - {*schemas.known.id_headers}, settings)
        yield failure("records", f"{newest_count}: no event counts: {reasons}{cause}")
    elif malformed > read * settings.dead_letters.limit:
        yield failure("records", f"{newest_count}: too many are malformed to start: {reasons}")
    elif valid < read:
        yield warning("records", f"{newest_count}: not all count: {reasons}")
    else:
        yield passed("records", f"{newest_count}: all count")
    if valid:
        yield from _check_fields(schemas.known, settings, records)
        yield from _check_numbers(schemas.known, settings.policy(), records)


def _check_fields(schemas: EventSchemas, settings: Settings, records: DataFrame) -> Iterator[CheckResult]:
    """Warns of each field that reports read and that no event has; the fields of every event have verdicts."""
    mapping = settings.schemas.mapping
    events = reader(schemas, *needed_fields(settings.policy()))
    read = records.select(*events.columns).where(F.col(c.USER_ID).isNotNull())
    further = [name for name in events.names if name not in (c.USER_ID, c.EVENT_TIME, c.EVENT_TYPE)]
    all_events, *counts = read.agg(
        F.count(F.lit(1)), *map(F.count, (F.col(f"`{name}`") for name in further))
    ).first() or (0,)
    for name in (name for name, count in zip(further, counts, strict=True) if not count):
        field, setting = {
            c.PAGE_URL: (mapping.page, "schemas.mapping.page"),
            c.EVENT_ID: (mapping.event_id, "schemas.mapping.event_id"),
        }.get(name, (name, "the reports"))
        yield warning(
            "fields",
            f"{field} is null in all of {counted(all_events, 'event')} among the newest records: does {setting} name "
            "the right field, and is it of that type?",
        )


def _check_numbers(schemas: EventSchemas, policy: Policy, records: DataFrame) -> Iterator[CheckResult]:
    """Warns of each measure whose field is not read as a number in some events."""
    measures = [measure for measure in policy.field_measures if not measure.function.is_of_text]
    events = reader(schemas, *needed_fields(policy))
    fields = records.select(*events.columns).where(F.col(c.USER_ID).isNotNull())
    counts = fields.agg(F.count(F.lit(1)), *(F.count_if(unread(measure)) for measure in measures)).first() or (0,)
    for measure, count in zip(measures, counts[1:], strict=True):
        if count:
            yield warning(
                "measures",
                f"measures.{measure.name} leaves out {count:,} of {counted(counts[0], 'event')} among the newest "
                f"records: {measure.path or measure.sql} is no number there, has more than "
                f"{counted(measure.digits, 'digit')} after the point, or is too large",
            )


def _cause(kind: str | None, unread_headers: Collection[str], settings: Settings) -> str:
    """Returns the sentence about values of the format `kind`, of which no event counts; empty if nothing is known."""
    if headers := sorted({*ID_HEADERS} & {*unread_headers}):
        return (
            f". The schema ids are in a header that these settings do not read ({', '.join(headers)}): see "
            '"Ids of schemas" in schemas/README.md'
        )
    if kind is None:
        return ""
    if kind == _LONG_IDS:
        return (
            f'. The values look like {kind}: set schemas.registry.ids to "auto" (see "Ids of schemas" in '
            "schemas/README.md), or name a folder with their schemas"
        )
    if kind != _JSON:
        return f". The values look like {kind}, which is not read"
    if settings.schemas.format == "avro":
        return '. The values look like JSON: set schemas.format to "json"'
    return ". The values are JSON: do schemas.mapping.user, time and kind name the right fields?"


def likely_format(values: Iterator[bytes | None]) -> str | None:
    """Returns the name of the format that most values have by their first bytes; None if it is unknown."""
    names = Counter(_format_of(bytes(value)) for value in values if value)
    return names.most_common(1)[0][0] if names else None


def _format_of(value: bytes) -> str | None:
    for start, name in _STARTS.items():
        if value.startswith(start):
            return name
    value = value[FRAME_BYTES:] if value.startswith(b"\0") and value[FRAME_BYTES : FRAME_BYTES + 1] == b"{" else value
    if value.lstrip()[:1] in (b"{", b"["):
        return _JSON if _is_json(value) else "text"
    if value.startswith(_LONG_IDS_START):
        return _LONG_IDS
    if {*value[:64]} <= _TEXT:
        return "text"
    return None if value[:1] in (b"\0", b"\1") else "Avro or Protobuf without a schema id"


def _is_json(value: bytes) -> bool:
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


def _newest(spark: SparkSession, settings: Settings, topic: Topic) -> TopicRanges | None:
    """Returns the newest records of each partition; None if the topic is empty."""
    earliest, ends = topic.earliest(), topic.log_ends()
    most = -(-_SAMPLE // max(len(ends), 1))
    starts = {partition: max(end - most, earliest[partition]) for partition, end in ends.items()}
    return None if starts == ends else TopicRanges(spark, settings.kafka, starts, ends)


def _header_names(newest: TopicRanges) -> set[str]:
    """Returns the names of the headers of the newest record of each partition; empty if the brokers do not answer."""
    options = {**librdkafka_client(newest.kafka), "group.id": newest.kafka.group_id, "enable.auto.commit": False}
    last = [
        TopicPartition(newest.kafka.topic, partition, end - 1)
        for partition, end in newest.ends.items()
        if end > newest.starts[partition]
    ]
    consumer = Consumer(options)
    try:
        consumer.assign(last)
        records = consumer.consume(len(last), _HEADERS_S)
        return {header[0] for record in records for header in record.headers() or ()}
    except KafkaException:
        return set()
    finally:
        consumer.close()


def _judge(
    schemas: SchemaStore, settings: Settings, newest: TopicRanges, now: int
) -> tuple[Tallies, Mapping[str, int], DataFrame]:
    """Returns verdicts, reasons and records; asks the registry for schemas that records name, and stores nothing."""
    schemas.load()
    while True:
        plan = plan_fold(newest.spark, schemas.known, settings.policy(), len(newest.ends))
        records = newest.read(plan.decoding_plan)
        result = InSpark(plan, plan.packed(plan.keyed(records, BatchContext(None, now))), None)
        statistics: list[Statistic] = [*result.statistics]
        is_unknown = any(row.check == Check.SCHEMA_ID for row in statistics)
        if not (is_unknown and schemas.learn(result.unknown_schema_ids, now)):
            tallies = Tallies.of_rows(statistics)
            return tallies, schemas.with_reasons(tallies.reasons(), result.unknown_schema_ids), records


def _in_words(reasons: Mapping[str, int], mapping: MappingSettings) -> str:
    """Returns all reasons with their counts; fields have the names that they have in the topic."""
    names = {c.USER_ID: mapping.user, c.EVENT_TIME: mapping.time, c.EVENT_TYPE: mapping.kind}
    words = (f"{count:,} {reason}" for reason, count in Counter(reasons).most_common() if count)
    return re.sub(r"\w+", lambda word: names.get(word[0]) or word[0], ", ".join(words))
