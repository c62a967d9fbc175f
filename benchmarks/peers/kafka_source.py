"""Spark's own Kafka source, from which peers of Tidemark read."""

import json
from pathlib import Path

from tidemark.pipeline.kafka.clients import consumer_options
from tidemark.pipeline.settings.model import KafkaSettings


def source_options(kafka: KafkaSettings, most: int) -> dict[str, str]:
    """Returns options that read a topic from its start by our consumers, in batches of at most `most` offsets."""
    return {
        **consumer_options(kafka),
        "subscribe": kafka.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(most),
    }


def planned_ends(checkpoint: Path, batch_id: int, topic: str) -> dict[int, int]:
    """Returns by partition the offset (exclusive) up to which the query's batch `batch_id` reads.

    Source of the format: Spark, `OffsetSeqLog`: a version line, a line of metadata, then a line per source.
    """
    source = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()[2]
    return {int(partition): offset for partition, offset in json.loads(source)[topic].items()}
