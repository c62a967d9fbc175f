"""A broker that gets no time."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from demo.broker import Broker


@contextmanager
def frozen(broker: Broker) -> Iterator[None]:
    """It takes connections and does not answer, as behind a broken network, and then goes on where it was."""
    assert broker._process is not None
    os.kill(broker._process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker._process.pid, signal.SIGCONT)
