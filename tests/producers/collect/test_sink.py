"""When the collector calls a request's records acknowledged, with a Kafka client that only notes them."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.producers.broker import Target
from tidemark.producers.collect import sink
from tidemark.producers.collect.reading import Record
from tidemark.producers.collect.sink import KafkaSink, Unavailable

RECORDS = [Record("visit", key, b"value") for key in (b"ann", b"bob")]
OK = None
REFUSED = SimpleNamespace(name=lambda: "MSG_TIMED_OUT")


class Client:
    """A Kafka client whose records wait until `answer` is called."""

    def __init__(self) -> None:
        self.waiting = list[Callable[..., None]]()

    def __len__(self) -> int:
        return len(self.waiting)

    def produce(self, _: str, value: bytes, key: bytes, *, on_delivery: Callable[..., None]) -> None:  # noqa: ARG002 - Kafka's signature
        """Queues a record."""
        self.waiting.append(on_delivery)

    def answer(self, error: Any = OK) -> None:
        """Answers the record that has waited longest."""
        self.waiting.pop(0)(error, None)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setattr(sink, "Producer", lambda _: client)
    return client


def sent(client: Client, answers: Sequence[Any], pending: int = 2) -> str:
    """Sends two records, and returns what is known after these answers: `waits`, `acknowledged` or the reason."""

    async def send() -> str:
        task = asyncio.create_task(KafkaSink(Target("localhost", "t"), pending).send(RECORDS))
        await asyncio.sleep(0)
        for answer in answers:
            client.answer(answer)
        for _ in range(3):  # the task resumes, and ends, in later turns of the loop
            await asyncio.sleep(0)
        if not task.done():
            task.cancel()
            return "waits"
        error = task.exception()
        if error is not None and not isinstance(error, Unavailable):
            raise error
        return error.reason if isinstance(error, Unavailable) else "acknowledged"

    return asyncio.run(send())


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ([], "waits"),
        ([OK], "waits"),
        ([OK, OK], "acknowledged"),
        ([OK, REFUSED], "MSG_TIMED_OUT"),
        ([REFUSED], "MSG_TIMED_OUT"),
        ([REFUSED, OK], "MSG_TIMED_OUT"),
    ],
)
def test_a_request_is_acknowledged_once_kafka_has_every_record(
    client: Client, answers: Sequence[Any], result: str
) -> None:
    assert sent(client, answers) == result


def test_a_request_that_would_leave_too_many_records_waiting_is_refused_as_a_whole(client: Client) -> None:
    assert sent(client, [], pending=1) == sink.FULL
    assert len(client) == 0
