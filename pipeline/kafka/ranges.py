"""Reads planned ranges of the topic by columns: Spark's source in `connector`, which decodes events in place."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from tidemark.pipeline.kafka.clients import consumer_options
from tidemark.pipeline.runtime.connector import SOURCE
from tidemark.pipeline.settings.model import KafkaSettings


@dataclass(frozen=True, slots=True)
class TopicRanges:
    """Offsets of each partition, from those in `starts` up to those in `ends`."""

    spark: SparkSession
    kafka: KafkaSettings
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    until: int | None = None
    """Milliseconds since 1970: every record that arrived before it is in these ranges or below. None: not known.

    The arrival of a record is the highest Kafka timestamp of its partition up to it. It is a multiple of 200. Records
    that arrived at it or later are in these ranges if a step of 200 ms has more records than a batch, or if their
    timestamps are ahead of the clock.
    """

    def read(self, plan: str) -> DataFrame:
        """Returns the records with the fields of the decoding `plan` (see `tidemark.pipeline.decoding.decode.Reader`).

        A partition without a start is read from offset 0. A task fails if offsets were deleted, or no record comes for
        half a minute. Raises SetUpError if a file of the settings cannot be used.
        """
        ranges = [f"{partition}:{self.starts.get(partition, 0)}:{end}" for partition, end in self.ends.items()]
        options = {
            **consumer_options(self.kafka),
            "topic": self.kafka.topic,
            "ranges": ",".join(ranges),
            "tasks": str(self.spark.sparkContext.defaultParallelism),
            "plan": plan,
        }
        return self.spark.read.format(SOURCE).options(**options).load()
