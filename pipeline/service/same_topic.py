"""Checks that the topic was not recreated since the epoch was opened."""

from collections.abc import Mapping

from tidemark.pipeline.errors import SetUpError, TransientError
from tidemark.pipeline.kafka.topic import Topic


def require_same(warehouse: str, topic: str, was: str | None, now: str | None) -> None:
    """Raises SetUpError if the id of a topic has changed."""
    if was != now:
        raise SetUpError(
            f"topic {topic} was deleted and recreated since the warehouse {warehouse} was written (its id "
            f"was {was} and is {now}): the ledger's offsets mean nothing in it. Use a new warehouse "
            "(docs/operations.md#move)"
        )


class SameTopic:
    """The topic as an epoch was opened with it: every question asks for its id, too."""

    def __init__(self, topic: Topic, warehouse: str, topic_id: str | None) -> None:
        self._topic = topic
        self._warehouse = warehouse
        self._topic_id = topic_id

    def high_watermarks(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Returns the offset after the last record of each partition that has a position.

        Records that were read before the call are of the topic that the epoch was opened with. Raises SetUpError if it
        was recreated since, TransientError if the broker does not answer.
        """
        return self._topic.ends_of(positions, self._require)

    def with_new_partitions(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Returns positions of all partitions that the topic has now: new ones begin at offset 0.

        Raises TransientError if records of a new partition were deleted before they were read: the next start
        refuses or records that loss. Raises SetUpError if the topic was recreated.
        """
        first = self._topic.first_offsets(self._require)
        for partition, offset in first.items():
            if offset and partition not in positions:
                raise TransientError(
                    f"partition {partition} was added to topic {self._topic.name} and begins at offset {offset}: "
                    "records were deleted before they were read"
                )
        return {**dict.fromkeys(first, 0), **positions}

    def _require(self, topic_id: str) -> None:
        require_same(self._warehouse, self._topic.name, self._topic_id, topic_id)
