"""A broker that gets no time."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from demo.broker import Broker


@contextmanager
def frozen(broker: Broker) -> Iterator[None]:
    """It accepts connections and does not answer, like a broken network, and then goes on."""
    assert broker._process is not None
    os.kill(broker._process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker._process.pid, signal.SIGCONT)
