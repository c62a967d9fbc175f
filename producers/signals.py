"""Lets a loop ask whether SIGTERM or SIGINT was received."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Yields a function that returns whether a signal was received; signals do not interrupt the block."""
    received: list[int] = []

    def receive(signal_number: int, _: FrameType | None) -> None:
        received.append(signal_number)

    handlers = {number: signal.signal(number, receive) for number in _STOP_SIGNALS}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
