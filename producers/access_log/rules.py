"""The rules by which a request is a visit. docs/collecting.md states them; `Outcome` has their order."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from crawlerdetect import CrawlerDetect

from producers.access_log.outcome import Outcome
from producers.access_log.request import Request
from producers.collect.contract import AGENT_LENGTH

ASSETS: Final = re.compile(
    r"""
    .*\.(7z|atom|avi|avif|bmp|br|bz2|css|csv|dmg|docx?|eot|exe|flac|gif|gz|ico|ics|iso|jpe?g|jsonld|json|js|m3u8|m4a|m4s|map
    |mjs|mkv|mov|mp3|mp4|mpe?g|odt|ogg|ogv|otf|pdf|png|pptx?|rar|rdf|rss|svgz?|swf|tar|tgz|tiff?|ts|ttf|txt|vtt|wasm|wav
    |webm|webmanifest|webp|woff2?|xlsx?|xml|xsl|xz|zip|zst)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Paths of what is no page, by their extension."""

PROBES: Final = re.compile(
    r"""
      [^/].*                                                  # a proxy is asked for: http://..., host:port, *
    | .*/\..*                                                 # hidden files: /.env, /.git/config, /.well-known/...
    | /(healthz?|livez|readyz|ping|status|server-status|nginx_status|stub_status|basic_status)
    | (.*/)?(wp-login|xmlrpc|wp-cron|eval-stdin|phpinfo)\.php
    | (.*/)?(wp-admin|wp-includes|phpmyadmin|pma|cgi-bin|vendor/phpunit)(/.*)?
    | /(actuator|boaform|HNAP1|_ignition|solr|owa|autodiscover|manager/html|druid|geoserver)(/.*)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Paths that scanners and health checks ask for, whole and without the query."""

_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (\S+) HTTP/\d(?:\.\d)?")
_AGENTS_KEPT: Final = 65_536
_OK: Final = (200, 304)
_DETECT: Final = CrawlerDetect()


def target_of(request: Request) -> tuple[str, str] | None:
    """Method and target of the request line; None if it is none of HTTP."""
    match = _REQUEST_LINE.fullmatch(request.line)
    return (match[1], match[2]) if match else None


def judge(request: Request, since_ms: int, ignored: Sequence[str]) -> Outcome:
    """Whether a request is a visit, or why it is none. `ignored` are patterns of paths, as a shell has them."""
    asked = target_of(request)
    if request.time_ms < since_ms:
        return Outcome.BEFORE
    if asked is None:
        return Outcome.NO_REQUEST
    method, target = asked
    path = target.partition("?")[0]
    return _of_path(method, path) or _of_status(request.status) or _of_page(path, ignored) or _of_client(request)


def _of_path(method: str, path: str) -> Outcome | None:
    if method != "GET":
        return Outcome.OTHER_METHOD
    return Outcome.PROBE if PROBES.fullmatch(path) else None


def _of_status(status: int) -> Outcome | None:
    if status in _OK:
        return None
    kinds = {3: Outcome.REDIRECT, 4: Outcome.CLIENT_ERROR, 5: Outcome.SERVER_ERROR}
    return kinds.get(status // 100, Outcome.OTHER_STATUS)


def _of_page(path: str, ignored: Sequence[str]) -> Outcome | None:
    if ASSETS.fullmatch(path):
        return Outcome.ASSET
    return Outcome.IGNORED if any(fnmatchcase(path, pattern) for pattern in ignored) else None


def _of_client(request: Request) -> Outcome:
    if request.purpose and "prefetch" in request.purpose:
        return Outcome.PREFETCH
    if request.agent is None:
        return Outcome.VISIT
    if not request.agent.strip():
        return Outcome.NO_AGENT
    return Outcome.ROBOT if _is_robot(request.agent[:AGENT_LENGTH]) else Outcome.VISIT


@lru_cache(_AGENTS_KEPT)
def _is_robot(agent: str) -> bool:
    """Asked once for each agent: the library takes a millisecond to find that one is a person's."""
    return bool(_DETECT.is_crawler(agent))
