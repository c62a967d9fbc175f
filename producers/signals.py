"""SIGTERM and SIGINT as a question that a loop can ask."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ASKED_TO_STOP = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Within it a signal does not interrupt but turns the given question true."""
    received: list[int] = []

    def receive(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, receive) for number in _ASKED_TO_STOP}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
