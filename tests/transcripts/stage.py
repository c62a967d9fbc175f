"""Where a transcript is played for real: a topic on a broker, a warehouse, and a service that may be restarted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from tests.support import warehouse as tables
from tests.support.kafka_cluster import Cluster
from tests.support.services import Clock, settings_of
from tests.support.topic_writer import event, json_event, send
from tests.transcripts.transcript import Report, Row, RowKey, Seen, Sent, Step, Tables, Totals, Transcript
from tests.transcripts.transcript_settings import sections_of
from tidemark.pipeline.app import open_service
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.kafka.stream import Stream
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import STANDARD, Tuning


@dataclass(slots=True)
class WholeTopic(Stream):
    """Reads up to the end of the topic in one batch, without a query of Spark, which would plan the same offsets."""

    ends: Callable[[], Mapping[int, int]] = dict
    """Returns the end of each partition."""

    def drain(self, positions: Mapping[int, int], arrived: int | None = None) -> None:  # noqa: ARG002 - ends are given
        """Takes the batch from `positions` to the ends."""
        self.on_batch(TopicRanges(self.spark, self.kafka, positions, self.ends()))


def without_query(service: RunningService) -> RunningService:
    """Returns a service whose `drain` takes one batch without a query."""
    stream, ends = service._stream, service._resources.topic.log_ends
    return replace(service, _stream=WholeTopic(stream.spark, stream.kafka, stream.batch, stream.on_batch, ends=ends))


class Stage:
    """Plays one transcript, step by step."""

    def __init__(
        self,
        transcript: Transcript,
        broker: Cluster,
        topic: str,
        warehouse: Path,
        tuning: Tuning = STANDARD,
        *,
        by_query: bool = True,
        **more: Mapping[str, Any],
    ) -> None:
        """Plays with a query of Spark, which may cut a step into batches, or without; `more` is added to settings."""
        self._tuning, self._by_query = tuning, by_query
        self._transcript, self._warehouse, self._more = transcript, warehouse, more
        self._broker, self._topic = broker, topic
        self._clock = Clock(transcript.value("clock"))
        self._open = ExitStack()
        self.batches = 0

    def __enter__(self) -> Self:
        """Opens the service."""
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        """Closes it, whatever happened."""
        self._open.close()

    def play(self, step: Step) -> Seen:
        """One step, and what it led to."""
        if step.restart:
            self._open.close()
            self._transcript = self._transcript.restarted(step.changes)
            self._start()
        self._clock.move(step.wait_ms)
        before = tables.latest_batch(self._warehouse)[0]["batch"]
        put(step.send, self._broker, self._topic, as_json=self._transcript.has_other_kinds)
        if step.reads:
            self._service.drain()
        else:
            self._service.tick()
        self.batches = len(tables.batches(self._warehouse))
        return self._seen(before)

    def _start(self) -> None:
        settings = settings_for(self._transcript, self._broker, self._topic, self._warehouse, **self._more)
        service = self._open.enter_context(open_service(settings, now=self._clock, tuning=self._tuning))
        self._service = service if self._by_query else without_query(service)

    def _seen(self, before: int) -> Seen:
        found = [row["duplicate"] for row in tables.rows(self._warehouse, "ledger") if row["batch"] > before]
        dead = [row for row in tables.rows(self._warehouse, "dead_letters") if row["batch"] > before]
        return Seen(
            watermark=tables.latest_batch(self._warehouse)[0]["watermark"],
            tables=published_tables(self._transcript, self._warehouse),
            dead=sorted((row["user_id"], row["event_time"], row["reason"]) for row in dead),
            duplicates=sum(found),
        )


def put(sent: Iterable[Sent], broker: Cluster, topic: str, *, as_json: bool = False) -> None:
    """Puts events on a topic, in Avro or in JSON."""
    written = json_event if as_json else event
    events = [
        written(record.user, record.event_time, record.act, record.partition, record.stamp, record.page, record.id)
        for record in sent
    ]
    send(broker.bootstrap_servers, topic, events)


def published_tables(transcript: Transcript, warehouse: Path) -> Tables:
    """The whole of every table that there is or was."""
    reports = {name: _published(report, warehouse) for name, report in transcript.every_report.items()}
    totals = transcript.every_totals
    return reports | ({totals.name: _totals(totals, warehouse)} if totals else {})


def _published(report: Report, warehouse: Path) -> dict[RowKey, Row]:
    rows = tables.rows(warehouse, report.name)
    key = [*report.keys, "window_start", "window_end"]
    return report.table((tuple(_value(row[name]) for name in key), _row(row, report.columns)) for row in rows)


def _totals(totals: Totals, warehouse: Path) -> dict[RowKey, Row]:
    rows = tables.rows(warehouse, totals.name)
    assert len({row["user_id"] for row in rows}) == len(rows), "a user is there twice"
    return {(row["user_id"],): _row(row, totals.columns) for row in rows}


def settings_for(
    transcript: Transcript, broker: Cluster, topic: str, warehouse: Path, **more: Mapping[str, Any]
) -> Settings:
    """The transcript's settings, on a topic and in a warehouse of its own; `more` are added to sections."""
    sections = sections_of(transcript)
    sections |= {name: sections.get(name, {}) | values for name, values in more.items()}
    return settings_of(broker, topic, warehouse, **sections)


def _row(row: dict[str, Any], columns: Sequence[str]) -> Row:
    return Row({column: _value(row[column]) for column in columns}, row["published_batch"])


def _value(cell: Any) -> Any:
    """A cell of a table; moments are milliseconds."""
    return tables.milliseconds(cell) if isinstance(cell, datetime) else tables.hashable(cell)
