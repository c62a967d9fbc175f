"""The page of the service beside a verb, found by the settings that both have."""

import ssl
import urllib.request
from http import HTTPStatus
from typing import Any, Final
from urllib.error import HTTPError

from pipeline.settings.model import MetricsSettings

_ANSWER_S: Final = 4
_LONGEST: Final = 300
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - not to listen there


def endpoint_url(metrics: MetricsSettings, path: str) -> str:
    """Where the page is."""
    host = _ANYWHERE.get(metrics.host, metrics.host)
    scheme = "https" if metrics.certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{metrics.port}{path}"


def open_page(metrics: MetricsSettings, path: str) -> Any:
    """Its answer, to be closed. Raises urllib's HTTPError for one that is not well, OSError where there is none."""
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]  # whatever the environment names
    if metrics.certificate:
        handlers.append(urllib.request.HTTPSHandler(context=_trusting(metrics)))
    return urllib.request.build_opener(*handlers).open(endpoint_url(metrics, path), timeout=_ANSWER_S)


def service_health(metrics: MetricsSettings) -> str:
    """The service's own word as a sentence, by the settings that both have."""
    address = endpoint_url(metrics, "/healthz")
    try:
        with open_page(metrics, "/healthz") as page:
            page.read(_LONGEST)
    except HTTPError as error:
        told = error.read(_LONGEST).decode(errors="replace").strip()
        return f"The service at {address} is not well ({HTTPStatus(error.code).phrase}): {told}"
    except OSError:
        return f"No service answers at {address}: most likely it does not run."
    return f"The service at {address} says that it is well: nothing new has come that it could read."


def _trusting(metrics: MetricsSettings) -> ssl.SSLContext:
    """Trusts the service's own certificate, and nothing else; its name is for those who come from elsewhere."""
    context = ssl.create_default_context(cafile=metrics.certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
