"""Paths that are no pages: assets, and paths that only scanners and health checks request.

Plain words, not regular expressions.
"""

from itertools import pairwise
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ASSETS: Final = _words(
    """
    7z atom avi avif bmp br bz2 css csv dmg doc docx eot exe flac gif gz ico ics iso jpeg jpg json jsonld js
    m3u8 m4a m4s map mjs mkv mov mp3 mp4 mpeg mpg odt ogg ogv otf pdf png ppt pptx rar rdf rss svg svgz swf
    tar tgz tif tiff ts ttf txt vtt wasm wav webm webmanifest webp woff woff2 xls xlsx xml xsl xz zip zst
    """
)
"""Extensions of files that are no pages."""

HEALTH_CHECKS: Final = _words(
    "/health /healthz /livez /readyz /ping /status /server-status /nginx_status /stub_status /basic_status"
)
"""Whole paths that health checks request."""

SCRIPTS: Final = _words("wp-login.php xmlrpc.php wp-cron.php eval-stdin.php phpinfo.php")
"""Last segments of paths that scanners request."""

FOLDERS: Final = _words("wp-admin wp-includes phpmyadmin pma cgi-bin")
"""Segments anywhere in paths that scanners request."""

ROOTS: Final = _words("actuator boaform hnap1 _ignition solr owa autodiscover druid geoserver")
"""First segments of paths that scanners request."""


def is_asset(path: str) -> bool:
    """Returns whether `path` has the extension of a file that is no page."""
    _, dot, extension = path.rpartition(".")
    return bool(dot) and extension.lower() in ASSETS


def is_probe(path: str) -> bool:
    """Returns whether only scanners and health checks request `path`.

    A path without a leading slash asks for a proxy: `http://...`, `host:port`, `*`.
    """
    first, *segments = path.lower().split("/")
    return (
        bool(first or not segments)
        or path.lower() in HEALTH_CHECKS
        or segments[0] in ROOTS
        or segments[-1] in SCRIPTS
        or any(segment.startswith(".") or segment in FOLDERS for segment in segments)
        or segments[:2] == ["manager", "html"]
        or ("vendor", "phpunit") in pairwise(segments)
    )
