"""Kafka Streams as a contestant of the duel; the program is in `java`."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.duel.contestant import Arena, Contestant
from benchmarks.duel.scenario import PARTITIONS, Cell, Kind, kinds_of
from benchmarks.duel.topic_table import NO_LIMIT, TopicTable
from demo.topics import create_topic
from dev.flink import command, compiled
from tidemark.pipeline.runtime.jars import cache, listed, mirror, provide
from tidemark.schemas import WRITER_ID, load_schemas

_LOCK: Final = Path(__file__).parents[2] / "dev" / "streams.lock"


class KafkaStreams(Contestant):
    """A windowed count, whose updates go to a topic."""

    name = "kafka-streams"
    title = "Kafka Streams"
    options = (
        "exactly_once_v2, grace 10 s, LogAndContinueExceptionHandler with a dead letter topic, session timeout 10 s, "
        "no message.timestamp.after.max.ms on its topics; "
        "idle partitions: every update is a result, because suppressed windows of an idle partition never close; "
        "no operator removes duplicates"
    )

    def __init__(self, arena: Arena) -> None:
        """Prepares nothing yet."""
        super().__init__(arena)
        self._class_path = ""
        self._output, self._dead = f"{arena.topic}-output", f"{arena.topic}-dead"
        self._results = TopicTable(arena.bootstrap_servers, self._output)
        self._rejected = TopicTable(arena.bootstrap_servers, self._dead)

    def prepare(self) -> None:
        """Compiles the program, and creates the topics and the file of the schema."""
        folder = self.arena.folder
        (folder / "classes").mkdir()
        jars = provide(listed(_LOCK, "streams"), cache(), mirror())
        self._class_path = compiled(Path(__file__).with_name("java"), folder / "classes", jars)
        for topic in (self._output, self._dead):
            create_topic(self.arena.bootstrap_servers, topic, PARTITIONS, message_timestamp_after_max_ms=NO_LIMIT)
        self._schema.write_text(load_schemas()[WRITER_ID])

    def command(self) -> list[str]:
        """Returns the program with its state in the folder."""
        arena = self.arena
        topics = [arena.topic, self._output, self._dead]
        names = [arena.bootstrap_servers, *topics, str(arena.folder / "state"), str(self._schema)]
        return [*command(self._class_path, "duel.Counting"), *names]

    def table(self) -> Mapping[Cell, int]:
        """Returns the newest result of each window."""
        return self._results.counts()

    def said(self) -> Counter[Kind]:
        """Returns the dead letters."""
        return kinds_of(self._rejected.records().elements())

    @property
    def _schema(self) -> Path:
        return self.arena.folder / "schema.avsc"
