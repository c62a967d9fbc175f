"""Sends events and the state of their run in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from tidemark.producers.access_log.state import StateRecord
from tidemark.producers.broker import Target
from tidemark.producers.delivery import Delivery
from tidemark.producers.encode import arrow_schema, encode
from tidemark.producers.errors import DeliveryError, SetUpError
from tidemark.producers.partition import partition_of
from tidemark.producers.publish import Publisher

_ABORT_S: Final = 5.0
_AT_ONCE: Final = 100_000
_REPLACED: Final = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH})  # noqa: SLF001 - its name


class Transactions:
    """The transactions of a run. They fence off an older process of the same name, which cannot commit any more."""

    def __init__(self, target: Target, partitions: int, name: str, compression: str) -> None:
        """Aborts the open transaction of an earlier process. Raises SetUpError if the broker refuses."""
        self.publisher = Publisher(target, compression, Delivery.EXACTLY_ONCE, f"access-log.{name}")
        self._name, self._partitions = name, partitions
        self._timeout_s = target.timeout_ms / 1000
        try:
            self.publisher.producer.init_transactions(self._timeout_s)
        except KafkaException as error:
            raise SetUpError(
                f"cannot open transactions for the name {name} ({error.args[0].str()}); check the broker, or "
                f"allow Write on the transactional id access-log.{name}"
            ) from error

    def send(
        self, events: Sequence[Mapping[str, Any]], topic: str, partition: int, records: Iterator[StateRecord]
    ) -> None:
        """Sends `events`, and `records` to `partition` of the state topic `topic`, atomically.

        Raises DeliveryError if the broker does not accept them, SetUpError if another process has taken over the name.
        """
        producer = self.publisher.producer
        with self._translate_errors():
            producer.begin_transaction()
            self._send_events(events)
            while chunk := list(islice(records, _AT_ONCE)):
                keys, values = zip(*chunk, strict=True)
                self.publisher.send(keys, values, [partition] * len(keys), topic)
            producer.commit_transaction(self._timeout_s)

    def _send_events(self, events: Sequence[Mapping[str, Any]]) -> None:
        keys = [event["user_id"].encode() for event in events]
        values = encode(pa.RecordBatch.from_pylist(list(events), schema=arrow_schema()))
        self.publisher.send(keys, values, [partition_of(key, self._partitions) for key in keys])

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if cause.code() in _REPLACED:
                raise self._taken_over() from error
            raise DeliveryError(
                f"the broker did not accept the records ({cause.str()}); check the broker and start the run again, "
                "which resumes where it stopped"
            ) from error
        except DeliveryError:
            # A fatal error of a producer is reported when the transaction ends, not when a record is queued.
            try:
                self.publisher.producer.abort_transaction(_ABORT_S)
            except KafkaException as error:
                if error.args[0].code() in _REPLACED:
                    raise self._taken_over() from error
            raise

    def _taken_over(self) -> SetUpError:
        return SetUpError(
            f"another process runs under the name {self._name} and has taken over; give each log its own --name"
        )
