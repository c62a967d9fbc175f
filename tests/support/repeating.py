"""Something that goes on in the background of a test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def repeating(act: Callable[[], object], pause_s: float = 0) -> Iterator[None]:
    """Repeats `act` in a thread until the end of the context, which waits for the last time."""
    stopping = Event()

    def run() -> None:
        while not stopping.wait(pause_s):
            act()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
