"""Keeps a service running: signals, and starting again from the ledger when the world failed it."""

import signal
from threading import Event
from typing import Final

import structlog

from pipeline.app import open_service
from pipeline.errors import Replaced, SetUpError, TidemarkError, TransientError
from pipeline.settings import Settings
from pipeline.start import Tenure

_PAUSES_S: Final = (1, 2, 5, 10, 30)
"""Between attempts that commit nothing; after the last one the process gives up, for whoever watches it to see."""
_log = structlog.get_logger()


def catch_up(settings: Settings) -> None:
    """Reads to the end of the topic once. Raises TidemarkError where it cannot."""
    with open_service(settings) as service:
        service.drain()


def supervise(settings: Settings) -> None:
    """Runs until SIGTERM or SIGINT, whatever broker and store do meanwhile.

    Raises SetUpError and Replaced at once, TransientError after several attempts in a row that committed nothing.
    """
    stopping = Event()
    _stop_on_signals(stopping)
    vain, tenure = 0, Tenure()
    while not stopping.is_set():
        attempt = _Attempt(settings, stopping, tenure)
        try:
            attempt.run()
        except (SetUpError, Replaced):
            raise
        except Exception as error:
            vain = 0 if attempt.committed else vain + 1
            if vain > len(_PAUSES_S):
                raise TransientError(
                    f"gave up after {vain} attempts that committed nothing: {_brief(error)}"
                ) from error
            pause = _PAUSES_S[max(vain - 1, 0)]
            unforeseen = not isinstance(error, TidemarkError)
            _log.warning(
                "the service failed and starts again from the ledger",
                pause_s=pause,
                reason=_brief(error),
                exc_info=unforeseen,
            )
            stopping.wait(pause)


def _brief(error: Exception) -> str:
    """What happened, without the pages of Java frames behind it; py4j puts the reason on its second line."""
    return " ".join(str(error).split("\n")[:2]).strip()


class _Attempt:
    """One life of the service, and whether it got anywhere."""

    def __init__(self, settings: Settings, stopping: Event, tenure: Tenure) -> None:
        self._settings = settings
        self._stopping = stopping
        self._tenure = tenure
        self.committed = False

    def run(self) -> None:
        with open_service(self._settings, tenure=self._tenure) as service:
            _stop_on_signals(self._stopping)  # again: Spark's start takes SIGINT for itself
            try:
                service.run(self._stopping)
            finally:
                self.committed = service.committed > 0


def _stop_on_signals(stopping: Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
