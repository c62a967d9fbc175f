"""A question to a system that may never answer: a thread asks, and callers wait only briefly."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Generic, TypeVar

from tidemark.pipeline.instants import now_ms

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
            self._pending = asyncio.get_running_loop().create_future()
            Thread(target=self._compute, args=(compute, self._pending), name=self._name, daemon=True).start()
        async with asyncio.timeout(patience_s):
            return await asyncio.shield(self._pending)

    def _compute(self, compute: Callable[[], T], pending: asyncio.Future[T]) -> None:
        """Runs in a thread that does not keep the process alive, whatever it waits for."""
        try:
            end = partial(self._answered, pending, compute())
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            end = partial(self._failed, pending, error)
        with suppress(RuntimeError):  # the loop was closed meanwhile
            pending.get_loop().call_soon_threadsafe(end)

    def _answered(self, pending: asyncio.Future[T], answer: T) -> None:
        self._pending, self.asked_at = None, None
        self.answer, self.answered_at = answer, now_ms()
        pending.set_result(answer)

    def _failed(self, pending: asyncio.Future[T], error: Exception) -> None:
        self._pending, self.asked_at = None, None
        pending.set_exception(error)
        pending.exception()  # asyncio logs errors that no caller has seen
