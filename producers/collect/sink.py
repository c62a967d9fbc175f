"""Sends records to Kafka and awaits their acknowledgement by all replicas that the topic requires."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tidemark.producers.broker import Target
from tidemark.producers.collect.reading import Record
from tidemark.producers.delivery import Delivery, client_options

_TICK_S: Final = 0.005
"""Interval of polling the client, in the event loop's own thread, so that no lock is needed."""
_PENDING_KBYTES: Final = 65_536
_ASK_S: Final = 2.0
_ANSWER_HOLDS_S: Final = 1.0
_LOOKS: Final = 3
"""Looks at the broker while a record may wait for it."""
FULL: Final = "full"


class Unavailable(Exception):
    """Kafka has not acknowledged in time, or too many records are pending. A record may still arrive."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KafkaSink:
    """A Kafka producer for one topic, with at most `pending` records that are not yet acknowledged."""

    def __init__(self, target: Target, pending: int) -> None:
        self.ended = ""
        """The reason why the client is of no use any more, so that this process must be replaced; empty before."""
        self.on_end: Callable[[], None] = lambda: None
        """Called when it has ended."""
        self._topic, self._pending = target.topic, pending
        self._config, self._patience_s = target.client_config(), target.timeout_ms / 1000
        self._lost_since: float | None = None
        self._asked_at, self._answered, self._asking = -_ANSWER_HOLDS_S, False, asyncio.Lock()
        self._producer = Producer(
            {
                **target.client_config(),
                **client_options(Delivery.AT_LEAST_ONCE, None, target.timeout_ms),
                "message.timeout.ms": target.timeout_ms,
                "queue.buffering.max.messages": pending,
                "queue.buffering.max.kbytes": _PENDING_KBYTES,
                "partitioner": "murmur2_random",  # as Java's clients and the simulator choose
                "error_cb": self._on_error,
            }
        )

    def __len__(self) -> int:
        """Returns the number of records that are not yet acknowledged."""
        return len(self._producer)

    async def send(self, records: Sequence[Record]) -> None:
        """Returns once the broker has acknowledged every record. Raises Unavailable; some records may have arrived."""
        if len(self._producer) + len(records) > self._pending:
            raise Unavailable(FULL)
        acknowledged = _Acknowledged(len(records))
        try:
            for record in records:
                self._producer.produce(self._topic, record.value, record.key, on_delivery=acknowledged.on_delivery)
        except (BufferError, KafkaException) as error:
            acknowledged.all.cancel()
            raise Unavailable(FULL if isinstance(error, BufferError) else error.args[0].name()) from error
        await acknowledged.all

    async def listen(self) -> None:
        """Polls the client for acknowledgements, until it is cancelled."""
        while True:
            self._producer.poll(0)
            await asyncio.sleep(_TICK_S)

    async def watch(self) -> None:
        """Ends this client if only a new client reaches the broker for as long as a record may wait; until cancelled.

        librdkafka can lose the only broker of a cluster for good (docs/decisions/0017-collector.md).
        """
        while not self.ended:
            await asyncio.sleep(self._patience_s / _LOOKS)
            await self.look()

    async def look(self) -> None:
        """Looks once whether this client and a new client reach the broker."""
        is_well = await asyncio.to_thread(self._ask)
        if is_well or not await asyncio.to_thread(_describes, Producer(self._config), self._topic):
            self._lost_since = None
        elif self._lost_since is None:
            self._lost_since = time.monotonic()
        elif time.monotonic() - self._lost_since > self._patience_s:
            self._end("it has lost the broker, which a new client reaches")

    async def answers(self) -> bool:
        """Returns whether a broker describes the topic; the answer is cached for a second."""
        async with self._asking:
            if time.monotonic() - self._asked_at > _ANSWER_HOLDS_S:
                self._answered = await asyncio.to_thread(self._ask)
                self._asked_at = time.monotonic()
            return self._answered and not self.ended

    def close(self) -> None:
        """Waits until every pending record is acknowledged or has timed out."""
        self._producer.flush()

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._end(error.str())

    def _end(self, reason: str) -> None:
        self.ended = reason
        self.on_end()

    def _ask(self) -> bool:
        return _describes(self._producer, self._topic)


def _describes(client: Producer, topic: str) -> bool:
    with suppress(KafkaException):
        return client.list_topics(topic, timeout=_ASK_S).topics[topic].error is None
    return False


class _Acknowledged:
    """Counts the acknowledgements of a request's records; `all` is done at the last or at the first failure."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.all: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_delivery(self, error: KafkaError | None, _: Message) -> None:
        self._left -= 1
        if self.all.done():
            return
        if error:
            self.all.set_exception(Unavailable(error.name()))
        elif not self._left:
            self.all.set_result(None)
