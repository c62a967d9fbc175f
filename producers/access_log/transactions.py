"""Events and what is kept of their run, in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from producers.access_log.state import Record
from producers.broker import Target
from producers.delivery import Delivery
from producers.encode import arrow_schema, encode
from producers.errors import DeliveryError, SetupError
from producers.partition import partition_of
from producers.publish import Publisher

_ABORT_S: Final = 5.0
_AT_ONCE: Final = 100_000
_REPLACED: Final = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH})  # noqa: SLF001 - its name


class Transactions:
    """The transactions of a run, which is alone under its name: an older process of that name can commit no more."""

    def __init__(self, target: Target, partitions: int, name: str, compression: str) -> None:
        """Ends what an earlier process left open. Raises SetupError if the broker does not let it."""
        self.publisher = Publisher(target, compression, Delivery.EXACTLY_ONCE, f"access-log.{name}")
        self._name, self._partitions = name, partitions
        self._timeout_s = target.timeout_ms / 1000
        try:
            self.publisher.producer.init_transactions(self._timeout_s)
        except KafkaException as error:
            raise SetupError(
                f"no transactions are to be had under the name {name} ({error.args[0].str()}); see to the broker, or "
                f"allow Write on the transactional id access-log.{name}"
            ) from error

    def send(self, events: Sequence[Mapping[str, Any]], topic: str, partition: int, records: Iterator[Record]) -> None:
        """Sends the events, and the records to one partition of a topic: all of them or none.

        Raises DeliveryError if the broker does not take them, SetupError if another process has taken over the name.
        """
        producer = self.publisher.producer
        with self._told():
            producer.begin_transaction()
            self._send_events(events)
            while some := list(islice(records, _AT_ONCE)):
                keys, values = zip(*some, strict=True)
                self.publisher.send(keys, values, [partition] * len(keys), topic)
            producer.commit_transaction(self._timeout_s)

    def _send_events(self, events: Sequence[Mapping[str, Any]]) -> None:
        keys = [event["user_id"].encode() for event in events]
        values = encode(pa.RecordBatch.from_pylist(list(events), schema=arrow_schema()))
        self.publisher.send(keys, values, [partition_of(key, self._partitions) for key in keys])

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if cause.code() in _REPLACED:
                raise self._taken_over() from error
            raise DeliveryError(
                f"the broker did not take what was read ({cause.str()}); see to it and start the run again, which goes "
                "on where it was"
            ) from error
        except DeliveryError:
            # Why a producer can do no more it does not tell who queues a record, but who ends the transaction.
            try:
                self.publisher.producer.abort_transaction(_ABORT_S)
            except KafkaException as error:
                if error.args[0].code() in _REPLACED:
                    raise self._taken_over() from error
            raise

    def _taken_over(self) -> SetupError:
        return SetupError(
            f"another process runs under the name {self._name} and has taken over; give each log its own --name"
        )
