"""Keeps a service running: handles signals, and restarts it from the ledger after failures."""

import signal
import time
from contextlib import closing
from datetime import timedelta
from threading import Event
from typing import Final

import structlog
from py4j.protocol import Py4JNetworkError

from tidemark.pipeline.app import open_service, serve
from tidemark.pipeline.commands.retries import Retries
from tidemark.pipeline.errors import JavaEnded, TidemarkError, TransientError, Unreachable
from tidemark.pipeline.kafka.broker_errors import causes, is_of_broker
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.metrics.exporter import Exporter
from tidemark.pipeline.metrics.metric_catalogue import FailureKind
from tidemark.pipeline.runtime.java_process import ENDED, java_ended, java_watched
from tidemark.pipeline.runtime.spark_errors import cause_in, is_of_spark
from tidemark.pipeline.service.recovery import OwnEpoch
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.store_errors import is_of_store, without_colours

_JAVA_EXIT_S: Final = 2.0
"""Time from the end of the connection to the Java process until its exit is visible."""
_log = structlog.get_logger()


def catch_up(settings: Settings, *, ends_input: bool = False) -> None:
    """Reads to the end of the topic once, and publishes what silent partitions hold back. Raises TidemarkError.

    With `ends_input` the topic is complete: all windows fire and close.
    """
    configure_logs(settings.log_format)
    with java_watched(lambda: None):
        try:
            with open_service(settings) as service:
                service.drain()
                service.end_input() if ends_input else service.settle()
                service.require_events()
        except Exception as error:
            _raise_if_java_ended(error)
            if is_of_store(error):
                raise TransientError(f"the store failed: {_brief(error)}") from error
            raise


def supervise(settings: Settings, give_up_after: timedelta | None = None) -> None:
    """Runs until SIGTERM or SIGINT, and restarts the service after failures of broker and store.

    Raises at once what no retry can mend: SetUpError, Replaced, JavaEnded, BrokenChain, and every error whose cause is
    not a broker, a store, a registry or Spark. Raises Unreachable only before the first epoch was opened, and
    TransientError if attempts committed nothing for `give_up_after`.
    """
    configure_logs(settings.log_format)
    stopping = _Stopping()
    stopping.on_signals()
    with closing(serve(settings)) as exporter, java_watched(stopping.set):
        retries = Retries(give_up_after.total_seconds() if give_up_after else None)
        _Supervisor(settings, exporter, stopping, retries).run()


class _Stopping(Event):
    """Set when the process must end, by a signal (`asked`) or because the Java process has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = False

    def on_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True
        self.set()


class _Stopped(Exception):
    """The process was asked to stop while an attempt waited."""


class _Supervisor:
    """Repeats attempts; metrics, epoch and pauses outlive each attempt."""

    def __init__(self, settings: Settings, exporter: Exporter, stopping: _Stopping, retries: Retries) -> None:
        self._settings = settings
        self._exporter = exporter
        self._stopping = stopping
        self._retries = retries
        self._epoch = OwnEpoch()
        self._committed = False

    def run(self) -> None:
        while not self._stopping.is_set():
            began_s = time.monotonic()
            try:
                self._attempt()
            except _Stopped:
                break
            except Exception as error:  # noqa: BLE001 - the next attempt resumes from the ledger
                self._raise_if_final(error)
                if self._stopping.is_set():
                    _log.warning("service_failed_while_stopping", reason=_brief(error))
                    break
                self._pause_after(error, began_s)
        if not self._stopping.asked:
            raise JavaEnded(ENDED)

    def _attempt(self) -> None:
        self._committed = False
        with open_service(self._settings, own_epoch=self._epoch, exporter=self._exporter, wait=self._wait) as service:
            self._stopping.on_signals()  # again: Spark's start takes SIGINT for itself
            try:
                service.run(self._stopping)
            finally:
                self._committed = service.committed > 0

    def _wait(self, seconds: float) -> None:
        self._exporter.observer.waiting()
        if self._stopping.wait(seconds):
            raise _Stopped

    def _raise_if_final(self, error: Exception) -> None:
        """Raises the error if another attempt cannot succeed."""
        if not self._stopping.asked:
            _raise_if_java_ended(error)
        if isinstance(error, TidemarkError):
            is_open = self._epoch.epoch is not None
            is_retried = isinstance(error, TransientError) or (isinstance(error, Unreachable) and is_open)
        else:  # while the service stops, its parts may fail because others have ended
            is_retried = self._stopping.is_set() or _kind(error) is not FailureKind.OTHER or is_of_spark(error)
        if not is_retried:
            raise error

    def _pause_after(self, error: Exception, began_s: float) -> None:
        pause_s = self._retries.after_failure(time.monotonic(), began_s, committed=self._committed)
        if pause_s is None:
            raise TransientError(f"gave up, because attempts committed nothing: {_brief(error)}") from error
        kind = _kind(error)
        self._exporter.observer.failed(kind, _brief(error), pause_s)
        _log.warning(
            "service_restarting",
            pause_s=pause_s,
            reason=_brief(error),
        )
        self._stopping.wait(pause_s)


def _raise_if_java_ended(error: Exception) -> None:
    is_disconnected = isinstance(error, Py4JNetworkError | ConnectionError)
    if java_ended(_JAVA_EXIT_S if is_disconnected else 0):
        raise JavaEnded(ENDED) from error


def _kind(error: Exception) -> FailureKind:
    """Returns the kind of failure for the metrics."""
    if is_of_broker(error):
        return FailureKind.BROKER
    if any(map(is_of_store, (error, *causes(error)))):
        return FailureKind.STORE
    return FailureKind.OTHER


def _brief(error: Exception) -> str:
    """Returns the innermost cause of an error, on one line."""
    return " ".join(cause_in(without_colours(error)).split())
