"""Keeps a service running: signals, and starting again from the ledger when the world failed it."""

import signal
import time
from contextlib import closing
from datetime import timedelta
from threading import Event
from typing import Final

import structlog
from py4j.protocol import Py4JNetworkError

from pipeline.app import open_service, serve
from pipeline.commands.retries import Retries
from pipeline.errors import JavaEnded, Replaced, SetUpError, TidemarkError, TransientError, Unreachable
from pipeline.kafka.broker_errors import causes, is_of_broker
from pipeline.logs import configure_logs
from pipeline.metrics.exporter import Exporter
from pipeline.metrics.metric_catalogue import FailureKind
from pipeline.runtime.java_process import ENDED, java_ended, java_watched
from pipeline.service.recovery import OwnEpoch
from pipeline.settings.model import Settings
from pipeline.tables.store_errors import is_of_store, without_colours

_LAST_BREATH_S: Final = 2.0
"""From the end of the connection to the Java process until its own end can be seen."""
_log = structlog.get_logger()


def catch_up(settings: Settings) -> None:
    """Reads to the end of the topic once, and publishes what silent partitions hold back. Raises TidemarkError."""
    configure_logs(settings.log_format)
    with java_watched(lambda: None):
        try:
            with open_service(settings) as service:
                service.drain()
                service.settle()
                service.require_events()
        except Exception as error:
            _raise_if_java_ended(error)
            if is_of_store(error):
                raise TransientError(f"the store failed: {_brief(error)}") from error
            raise


def supervise(settings: Settings, give_up_after: timedelta | None = None) -> None:
    """Runs until SIGTERM or SIGINT, whatever broker and store do meanwhile.

    Raises SetUpError, Replaced and JavaEnded at once; but Unreachable only before it first opened an epoch. Raises
    TransientError if attempts committed nothing for `give_up_after`.
    """
    configure_logs(settings.log_format)
    stopping = _Stopping()
    stopping.on_signals()
    with closing(serve(settings)) as exporter, java_watched(stopping.set):
        retries = Retries(give_up_after.total_seconds() if give_up_after else None)
        _Supervisor(settings, exporter, stopping, retries).run()


class _Stopping(Event):
    """Set when the process shall end, by a person or because Java has."""

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
    """The process was told to stop while an attempt waited."""


class _Supervisor:
    """Attempt after attempt; the page, the epoch and the pauses outlive each of them."""

    def __init__(self, settings: Settings, exporter: Exporter, stopping: _Stopping, retries: Retries) -> None:
        self._settings = settings
        self._exporter = exporter
        self._stopping = stopping
        self._retries = retries
        self._tenure = OwnEpoch()
        self._committed = False

    def run(self) -> None:
        while not self._stopping.is_set():
            began_s = time.monotonic()
            try:
                self._attempt()
            except _Stopped:
                break
            except Exception as error:  # noqa: BLE001 - whatever failed, the ledger knows where to go on
                self._raise_if_final(error)
                if self._stopping.is_set():
                    _log.warning("service_failed_while_stopping", reason=_brief(error))
                    break
                self._pause_after(error, began_s)
        if not self._stopping.asked:
            raise JavaEnded(ENDED)

    def _attempt(self) -> None:
        self._committed = False
        with open_service(self._settings, own_epoch=self._tenure, exporter=self._exporter, wait=self._wait) as service:
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
        """Raises the error if another attempt cannot mend it."""
        if not self._stopping.asked:
            _raise_if_java_ended(error)
        later = isinstance(error, Unreachable) and self._tenure.epoch is not None
        if isinstance(error, SetUpError | Replaced) and not later:
            raise error

    def _pause_after(self, error: Exception, began_s: float) -> None:
        pause_s = self._retries.after_failure(time.monotonic(), began_s, committed=self._committed)
        if pause_s is None:
            raise TransientError(f"gave up, for attempts committed nothing: {_brief(error)}") from error
        kind = _kind(error)
        self._exporter.observer.failed(kind, _brief(error), pause_s)
        _log.warning(
            "service_restarting",
            pause_s=pause_s,
            reason=_brief(error),
            exc_info=kind is FailureKind.OTHER and not isinstance(error, TidemarkError),
        )
        self._stopping.wait(pause_s)


def _raise_if_java_ended(error: Exception) -> None:
    cut_off = isinstance(error, Py4JNetworkError | ConnectionError)
    if java_ended(_LAST_BREATH_S if cut_off else 0):
        raise JavaEnded(ENDED) from error


def _kind(error: Exception) -> FailureKind:
    """The kind of failure, where the error tells."""
    if is_of_broker(error):
        return FailureKind.BROKER
    if any(map(is_of_store, (error, *causes(error)))):
        return FailureKind.STORE
    return FailureKind.OTHER


def _brief(error: Exception) -> str:
    """The reason of an error, without the pages of Java frames behind it; py4j puts it on its second line."""
    return " ".join(without_colours(error).split("\n")[:2]).strip()
