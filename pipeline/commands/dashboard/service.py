"""Whether the service beside the page is well, asked where nothing was committed for a while."""

from http import HTTPStatus
from typing import Final
from urllib.error import HTTPError

from pipeline.commands.page import address_of, open_page
from pipeline.settings.model import MetricsSettings

QUIET_MS: Final = 10_000
"""A service that reads commits more often than that."""
_LONGEST: Final = 300


def said_by_service(metrics: MetricsSettings) -> str:
    """The service's own word as a sentence, by the settings that both have."""
    address = address_of(metrics, "/healthz")
    try:
        with open_page(metrics, "/healthz") as page:
            page.read(_LONGEST)
    except HTTPError as error:
        told = error.read(_LONGEST).decode(errors="replace").strip()
        return f"The service at {address} is not well ({HTTPStatus(error.code).phrase}): {told}"
    except OSError:
        return f"No service answers at {address}: most likely it does not run."
    return f"The service at {address} says that it is well: nothing new has come that it could read."
