"""Client of the health endpoint of the service on this host, at the address in `metrics.*`."""

import ssl
import urllib.request
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError

from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.metrics.probes import WAREHOUSE_ID
from tidemark.pipeline.settings.model import MetricsSettings
from tidemark.pipeline.tables.ledger import warehouse_id

NO_ANSWER: Final = (OSError, HTTPException)
"""Errors of a request that the service did not answer."""
_QUIET_MS: Final = 10_000
"""A service that reads events commits more often than this."""
_ANSWER_S: Final = 4
_LONGEST_BYTES: Final = 500
_LOCAL_HOSTS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - not to listen there


def endpoint_url(metrics: MetricsSettings, path: str) -> str:
    """Returns the URL of a path of the service's endpoint."""
    host = _LOCAL_HOSTS.get(metrics.host, metrics.host)
    scheme = "https" if metrics.certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{metrics.port}{path}"


def open_page(metrics: MetricsSettings, path: str) -> Any:
    """Opens a path of the service. Raises urllib's HTTPError for an error status, OSError without an answer."""
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]  # ignores proxies in the environment
    if metrics.certificate:
        handlers.append(urllib.request.HTTPSHandler(context=_tls_context(metrics)))
    return urllib.request.build_opener(*handlers).open(endpoint_url(metrics, path), timeout=_ANSWER_S)


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """The health of the service, and a sentence with its own words."""

    is_healthy: bool
    sentence: str


def service_health(metrics: MetricsSettings, warehouse: str) -> ServiceHealth:
    """Asks the service of a warehouse for its health."""
    url = endpoint_url(metrics, "/healthz")
    try:
        with open_page(metrics, "/healthz") as page:
            other = of_another(page.headers, metrics, warehouse)
            return ServiceHealth(is_healthy=not other, sentence=other or f"The service at {url} reports: {_text(page)}")
    except HTTPError as error:
        with error:
            other = of_another(error.headers, metrics, warehouse)
            return ServiceHealth(
                is_healthy=False, sentence=other or f"The service at {url} is unhealthy: {_unhealthy(error)}"
            )
    except NO_ANSWER as error:
        return ServiceHealth(is_healthy=False, sentence=no_answer(metrics, error))


def of_another(answered: Message, metrics: MetricsSettings, warehouse: str) -> str:
    """Returns a sentence if the service that `answered` with these headers writes another warehouse; else no text.

    It is empty, too, if one of the two is unknown: an older version has no id.
    """
    theirs, url = answered.get(WAREHOUSE_ID), endpoint_url(metrics, "/healthz")
    if theirs and warehouse and (own := warehouse_id(warehouse)) and own != theirs:
        return f"The service at {url} writes another warehouse; that of {warehouse} is stopped, or has another port."
    return ""


def is_quiet(committed_at: int | None) -> bool:
    """Returns whether nothing was committed for a time after which the service is asked for the reason."""
    return committed_at is not None and now_ms() - committed_at > _QUIET_MS


def no_answer(metrics: MetricsSettings, error: Exception) -> str:
    """Returns a sentence on an error of NO_ANSWER: whether the service is stopped, hangs, or answers no HTTP."""
    url, reason = endpoint_url(metrics, "/healthz"), getattr(error, "reason", error)
    if isinstance(reason, ConnectionRefusedError):
        return f"The service is stopped, or on another host: nothing listens at {url}."
    if isinstance(reason, TimeoutError):
        return f"The service at {url} does not answer within {_ANSWER_S} s: it may be stuck."
    return f"The service at {url} does not answer: {reason}."


def _unhealthy(error: HTTPError) -> str:
    """Returns what an unhealthy service reports."""
    try:
        return _text(error)
    except NO_ANSWER:
        return str(error.reason)


def _text(page: Any) -> str:
    return str(page.read(_LONGEST_BYTES).decode(errors="replace").strip())


def _tls_context(metrics: MetricsSettings) -> ssl.SSLContext:
    """Returns a context that trusts only the service's certificate, whatever host name it has."""
    context = ssl.create_default_context(cafile=metrics.certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # from Python 3.13 on a default; browsers do not require it
    return context
