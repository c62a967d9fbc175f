"""A question to a system that may never answer: a thread asks, and callers wait only briefly."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, Generic, TypeVar

from pipeline.instants import now_ms

T = TypeVar("T")


class Question(Generic[T]):
    """Asks at most once at a time; concurrent callers share the answer. Belongs to one event loop."""

    def __init__(self, name: str) -> None:
        """`name` is that of the threads."""
        self.answer: T | None = None
        """The last answer."""
        self.answered_at: int | None = None
        """When the last answer came, in ms."""
        self.asked_at: int | None = None
        """When the pending question was asked, in ms; None if no question is pending."""
        self._name = name
        self._pending: asyncio.Future[T] | None = None

    async def ask(self, compute: Callable[[], T], patience_s: float) -> T:
        """Returns what `compute` returns, or the pending question if there is one.

        Raises what `compute` raises, and TimeoutError after `patience_s` seconds; the question then stays pending.
        """
        if self._pending is None:
            self.asked_at = now_ms()
            self._pending = _in_thread(compute, self._name)
            self._pending.add_done_callback(self._end)
        async with asyncio.timeout(patience_s):
            return await asyncio.shield(self._pending)

    def _end(self, future: asyncio.Future[T]) -> None:
        self._pending, self.asked_at = None, None
        if not future.cancelled() and future.exception() is None:
            self.answer, self.answered_at = future.result(), now_ms()


def _in_thread(compute: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Runs a function in a thread that does not keep the process alive, whatever it waits for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(give: Callable[[Any], None], result: Any) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(lambda: None if future.done() else give(result))

    def run() -> None:
        try:
            result = compute()
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            deliver(future.set_exception, error)
        else:
            deliver(future.set_result, result)

    Thread(target=run, name=name, daemon=True).start()
    return future
