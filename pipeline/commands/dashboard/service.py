"""Whether the service beside the page is well, asked where nothing was committed for a while."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.error import HTTPError

from pipeline.commands.page import address_of, open_page
from pipeline.settings.model import MetricsSettings

QUIET_MS: Final = 10_000
"""A service that reads commits more often than that."""
_KEPT_S: Final = 5.0
_LONGEST: Final = 300


class Service:
    """The service's own word, by the settings that both have; kept for some seconds."""

    def __init__(self, metrics: MetricsSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._said = ""
        self._until = float("-inf")

    def __call__(self) -> str:
        """A sentence."""
        if self._clock() >= self._until:
            self._said = self._ask()
            self._until = self._clock() + _KEPT_S
        return self._said

    def _ask(self) -> str:
        address = address_of(self._metrics, "/healthz")
        try:
            with open_page(self._metrics, "/healthz") as page:
                page.read(_LONGEST)
        except HTTPError as error:
            told = error.read(_LONGEST).decode(errors="replace").strip()
            return f"The service at {address} is not well ({HTTPStatus(error.code).phrase}): {told}"
        except OSError:
            return f"No service answers at {address}: most likely it does not run."
        return f"The service at {address} says that it is well: nothing new has come that it could read."
