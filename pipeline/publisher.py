"""One publisher, in order, beside the next batch's fold."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from pipeline.time.lives import Dues, then

Publish = Callable[[Dues, int], None]
"""Publishes the windows that are due, from the panes committed up to a batch."""


class Publisher:
    """Publishes in a thread of its own; what falls due while it is busy is published together afterwards."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="publisher")
        self._lock = Lock()
        self._pending: tuple[Dues, int] | None = None
        self._last: Future[None] | None = None
        self._error: Exception | None = None

    def offer(self, dues: Dues, batch: int) -> None:
        """Takes what a committed batch made due. Raises what an earlier publication raised."""
        self._check()
        with self._lock:
            self._pending = (then(self._pending[0], dues) if self._pending else dues, batch)
        self._last = self._thread.submit(self._run)

    def afterwards(self, task: Callable[[], None]) -> None:
        """Runs a task once all that was offered is published; not at all if that failed."""
        self._last = self._thread.submit(lambda: task() if self._error is None else None)

    def flush(self) -> None:
        """Returns when all that was offered is published. Raises what a publication raised."""
        if self._last is not None:
            self._last.result()
        self._check()

    def close(self) -> None:
        """Ends the thread after the publication in hand."""
        self._thread.shutdown(wait=True)

    def _run(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, None
        if pending is None or self._error is not None:
            return
        try:
            self._publish(*pending)
        except Exception as error:  # noqa: BLE001 - kept for the thread that can act on it
            self._error = error

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
