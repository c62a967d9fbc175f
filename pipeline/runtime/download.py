"""Fetch one file into place: resumed after a cut, tried again after a hiccup, there only when its hash is right."""

import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import SetUpError

WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Pauses between attempts, in seconds; one attempt more than there are pauses."""

CHUNK_BYTES = 1 << 20
SILENCE_S = 30.0
RANGE_REFUSED = 416
RETRIED_STATUS = frozenset({408, RANGE_REFUSED, 425, 429, 500, 502, 503, 504})


def fetch(url: str, target: Path, sha256: str, waits_s: Sequence[float] = WAITS_S) -> None:
    """Download `url` to `target`, resuming `target`.part when there is one.

    The caller sees to it that one process at a time writes `target`. Raises SetUpError when the address refuses,
    stays unreachable, or serves something else than `sha256`.
    """
    part = target.with_name(target.name + ".part")
    resumed = part.exists()
    _complete(url, part, waits_s)
    # What an earlier process left behind may itself be wrong: only a file fetched as a whole convicts the mirror.
    if resumed and digest(part) != sha256:
        part.unlink()
        _complete(url, part, waits_s)
    if (found := digest(part)) != sha256:
        part.unlink()
        raise SetUpError(
            f"{url} has SHA-256 {found}, the lock says {sha256}: the mirror serves another file, "
            "so set TIDEMARK_MAVEN_MIRROR to one that is to be trusted."
        )
    part.replace(target)


def digest(path: Path) -> str:
    """Hash a file: SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _complete(url: str, part: Path, waits_s: Sequence[float]) -> None:
    for wait_s in (*waits_s, None):
        try:
            return _attempt(url, part)
        except (OSError, http.client.HTTPException) as cause:
            if wait_s is None:
                raise SetUpError(
                    f"{url} cannot be fetched ({cause}); check the network, or set TIDEMARK_MAVEN_MIRROR "
                    "to a Maven repository that this machine reaches."
                ) from cause
            time.sleep(wait_s)
    return None


def _attempt(url: str, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=SILENCE_S) as answer:
            _append(answer, part)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == RANGE_REFUSED:
            part.unlink(missing_ok=True)
        if error.code in RETRIED_STATUS:
            raise ConnectionError(f"HTTP {error.code}") from error
        raise SetUpError(
            f"{url} answers HTTP {error.code}: the mirror lacks this jar or wants a login; "
            "set TIDEMARK_MAVEN_MIRROR to a complete Maven repository."
        ) from error


def _append(answer: http.client.HTTPResponse, part: Path) -> None:
    """Write the answer behind what is there, or from the start when the mirror ignored the range."""
    due = answer.length
    with part.open("ab" if answer.status == http.HTTPStatus.PARTIAL_CONTENT else "wb") as file:
        start = file.tell()
        shutil.copyfileobj(answer, file, CHUNK_BYTES)
        # A read with a size reports a cut connection as the end of the file.
        if due is not None and (got := file.tell() - start) < due:
            raise ConnectionError(f"the connection ended after {got} of {due} bytes")
