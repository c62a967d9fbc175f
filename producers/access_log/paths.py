"""Paths that are not pages: assets, and paths that only scanners and health checks request.

Plain words, not regular expressions.
"""

from itertools import pairwise
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ASSETS: Final = _words(
    """
    3gp 7z aab aac aif aiff apk apng appimage appx asc atom avi avif bak bin bmp br bz2 cab cer crt crx css csv cur
    deb dll dmg doc docx ear eml eot epub exe flac flatpak flv gem geojson gif gpx gz heic heif ico ics img indd ipa
    ipynb iso jar jfif jpeg jpg js json jsonld jxl kml lz lz4 lzma m3u8 m4a m4b m4s map md5 mid midi mjs mka mkv
    mobi mov mp3 mp4 mpeg mpg msi msix mts nupkg odp ods odt oga ogg ogv opus otf ova p7s parquet pdf pkg png ppt
    pptx ps1 psd qcow2 rar rdf rpm rss rtf sha1 sha256 sha512 sig snap sql svg svgz swf tar tbz tbz2 tgz tif tiff
    torrent ts tsv ttf txt txz vcf vhd vmdk vtt war wasm wav webm webmanifest webp whl wma wmv woff woff2 xls xlsx
    xml xpi xsl xz zip zst
    """
)
"""Extensions of files that are not pages."""

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
    """Returns whether `path` has the extension of a file that is not a page."""
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
