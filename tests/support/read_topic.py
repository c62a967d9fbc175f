"""A topic that a service reads at this moment: what it is sent, and whether that is committed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from tests.support.kafka_cluster import Cluster
from tests.support.topic_writer import Raw, send
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import records
from tidemark.pipeline.settings.model import Settings


@dataclass
class ReadTopic:
    """The topic of a service's settings, and how many records it was sent."""

    broker: Cluster
    settings: Settings
    sent: int = 0

    def send(self, *raws: Raw) -> None:
        """Sends some records."""
        send(self.broker.bootstrap_servers, self.settings.kafka.topic, raws)
        self.sent += len(raws)

    def tell(self, *raws: Raw) -> None:
        """Sends some, and returns when all of it is committed."""
        self.send(*raws)
        self.wait()

    def wait(self) -> None:
        """Returns when all that was sent is committed."""
        wait_for(lambda: records(self.settings.warehouse) == self.sent, PATIENCE_S, "all to be committed")


@contextmanager
def all_the_while(act: Callable[[], object]) -> Iterator[None]:
    """Within it, `act` is done again and again by another thread; when it ends, the last time is over."""
    ended = Event()

    def go_on() -> None:
        while not ended.is_set():
            act()

    others = Thread(target=go_on)
    others.start()
    try:
        yield
    finally:
        ended.set()
        others.join()
