"""Makes a request from the fields of a line of any format, text or JSON."""

from collections.abc import Callable, Mapping
from typing import Final

from tidemark.producers.access_log.client_address import client_address
from tidemark.producers.access_log.request import Request, time_ms

LineParser = Callable[[str], Request]
"""Raises ValueError for a line that is not of the format."""

Fields = Mapping[str, str | None]
"""Values by meaning: None (or no entry) if the log does not record it, "" if the request did not have it."""

HEADERS: Final = ("referrer", "agent", "purpose")
_NEEDED: Final = ("address", "time", "status")
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def missing(present: Callable[[str], bool]) -> list[str]:
    """Returns the meanings that a request needs and that are not `present`."""
    absent = [meaning for meaning in _NEEDED if not present(meaning)]
    if not present("request") and not (present("method") and present("uri")):
        absent.append("request")
    return absent


def request_of(fields: Fields) -> Request:
    """Returns the request. Raises ValueError if a field has no valid value."""
    return Request(
        address=client_address(fields["address"] or ""),
        time_ms=time_ms(fields["time"] or ""),
        line=_request_line(fields),
        status=int(fields["status"] or ""),
        referrer=fields.get("referrer"),
        agent=fields.get("agent"),
        site=site_of(fields.get("scheme"), fields.get("host")),
        purpose=fields.get("purpose"),
    )


def _request_line(fields: Fields) -> str:
    line = fields.get("request")
    if line is None:
        return f"{fields['method']} {fields['uri']} HTTP/1.1" if fields.get("uri") else ""
    return line


def site_of(scheme: str | None, host: str | None) -> str | None:
    """Returns scheme and host in lower case, without the scheme's own port. The scheme is https unless known."""
    if not host:
        return None
    host = host.lower()
    scheme = (scheme or ("http" if host.endswith(_DEFAULT_PORTS["http"]) else "https")).lower()
    return f"{scheme}://{host.removesuffix(_DEFAULT_PORTS.get(scheme, ''))}"
