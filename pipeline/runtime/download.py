"""Downloads a file: resumes after a cut, retries after a failure, and creates the file only if its hash is right."""

import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tidemark.pipeline.errors import SetUpError

WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Pauses between attempts, in seconds; the last attempt comes after the last pause."""

CHUNK_BYTES = 1 << 20
SILENCE_S = 30.0
RANGE_REFUSED = 416
RETRIED_STATUS = frozenset({408, RANGE_REFUSED, 425, 429, 500, 502, 503, 504})


def fetch(url: str, target: Path, sha256: str, waits_s: Sequence[float] = WAITS_S) -> None:
    """Downloads `url` to `target`, and resumes `target`.part if it exists.

    The caller ensures that only a single process writes `target`. Raises SetUpError if the server refuses, stays
    unreachable, or serves a file without the hash `sha256`.
    """
    part = target.with_name(target.name + ".part")
    resumed = part.exists()
    _complete(url, part, waits_s)
    # A part of an earlier process may be wrong: only a file that was downloaded whole proves the mirror wrong.
    if resumed and digest(part) != sha256:
        part.unlink()
        _complete(url, part, waits_s)
    if (actual := digest(part)) != sha256:
        part.unlink()
        raise SetUpError(
            f"{url} has SHA-256 {actual}, but the lock has {sha256}: the mirror serves another file, "
            "so set TIDEMARK_MAVEN_MIRROR to a mirror that you trust."
        )
    part.replace(target)


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _complete(url: str, part: Path, waits_s: Sequence[float]) -> None:
    for wait_s in (*waits_s, None):
        try:
            return _attempt(url, part)
        except (OSError, http.client.HTTPException) as cause:
            if wait_s is None:
                raise SetUpError(
                    f"{url} cannot be fetched ({cause}); check the network, or set TIDEMARK_MAVEN_MIRROR to a "
                    "Maven repository that this machine can reach, or TIDEMARK_JARS_CACHE to a folder with all jars."
                ) from cause
            time.sleep(wait_s)
    return None


def _attempt(url: str, part: Path) -> None:
    size = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={size}-"} if size else {})
    try:
        with urllib.request.urlopen(request, timeout=SILENCE_S) as response:
            _append(response, part)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == RANGE_REFUSED:
            part.unlink(missing_ok=True)
        if error.code in RETRIED_STATUS:
            raise ConnectionError(f"HTTP {error.code}") from error
        raise SetUpError(
            f"{url} answers HTTP {error.code}: the mirror lacks this jar or requires credentials; "
            "set TIDEMARK_MAVEN_MIRROR to a complete Maven repository."
        ) from error


def _append(response: http.client.HTTPResponse, part: Path) -> None:
    """Appends the response to `part`, or replaces `part` if the mirror ignored the range."""
    expected = response.length
    with part.open("ab" if response.status == http.HTTPStatus.PARTIAL_CONTENT else "wb") as file:
        start = file.tell()
        shutil.copyfileobj(response, file, CHUNK_BYTES)
        # A read with a size reports a cut connection as the end of the file.
        if expected is not None and (received := file.tell() - start) < expected:
            raise ConnectionError(f"the connection ended after {received} of {expected} bytes")
