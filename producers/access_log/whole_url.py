"""Requests for whole URLs, as load balancers log them, and as scanners that look for a proxy send them."""

import re
from dataclasses import replace
from typing import Final

from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_fields import site_of

_WHOLE: Final = re.compile(r"(?i)([A-Z][A-Z0-9_-]*+ )(https?)://([^/?#@ ]++)(?=[/? ])/?+")


def without_site(request: Request, own: str) -> Request:
    """Returns a request for a URL of the own site as a request for its path; any other request unchanged.

    `own` is the address of the site, "" if it is not configured. Clients ask a proxy for `https` by CONNECT, so a GET
    of such a URL is of the own site; one of `http` only if the log or `own` has the same host.
    """
    match = None if " /" in request.line[:24] else _WHOLE.match(request.line)
    if match is None:
        return request
    method, scheme, host = match.groups()
    site = site_of(scheme, host) or ""
    if scheme.lower() != "https" and _host(site) not in {_host(own), _host(request.site or "")}:
        return request
    return replace(request, line=f"{method}/{request.line[match.end() :]}", site=request.site or site)


def is_whole_url(path: str) -> bool:
    """Tests whether the target of a request is a URL with a scheme, and not a path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*+://", path) is not None


def _host(site: str) -> str:
    return site.lower().partition("://")[2]
