"""Downloads exactly the jars of jars.lock from a Maven mirror into a per-user cache, and verifies each.

Needs neither a JVM nor Maven. Two environment variables change locations:
TIDEMARK_MAVEN_MIRROR (default Maven Central) and TIDEMARK_JARS_CACHE (default ~/.cache/tidemark/jars).
"""

import argparse
import contextlib
import fcntl
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.runtime.account import home
from tidemark.pipeline.runtime.download import WAITS_S, digest, fetch

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
AT_ONCE = 8
SETS = ("spark", "delta", "peers", "s3", "broker")
LAYOUTS = {"comma": ",", "classpath": os.pathsep, "lines": "\n"}

PROGRESS_S = 5.0
"""While jars are downloaded, a line is logged this often."""

_log = structlog.get_logger()


class Jar(NamedTuple):
    """A line of the lock: `group:artifact:version` and the SHA-256 of its file."""

    coordinate: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name in a repository and in the cache."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    def url(self, mirror: str) -> str:
        """Returns the address in the Maven repository `mirror`, by the standard layout."""
        group, artifact, version = self.coordinate.split(":")
        return f"{mirror}/{group.replace('.', '/')}/{artifact}/{version}/{self.name}"


def jars_of(section: str) -> list[Path]:
    """Returns the jars of a section, `spark` or the demo's `broker`; downloads missing jars.

    Raises SetUpError.
    """
    return provide(locked(section), cache(), mirror())


def provide(jars: Sequence[Jar], into: Path, mirror: str, waits_s: Sequence[float] = WAITS_S) -> list[Path]:
    """Downloads jars that are missing in `into`, or have a wrong hash; returns all paths in the order of `jars`.

    `waits_s` are the pauses between attempts in seconds. Raises SetUpError if a jar cannot be downloaded.
    """
    if missing(jars, into):
        with only_one(into), ThreadPoolExecutor(AT_ONCE) as pool:
            # Another process may have downloaded them meanwhile.
            absent = missing(jars, into)
            tasks = [pool.submit(fetch, jar.url(mirror), into / jar.name, jar.sha256, waits_s) for jar in absent]
            try:
                _wait(tasks, absent, into, mirror)
            finally:
                # A failure is reported at once: do not wait for forty more jars.
                pool.shutdown(wait=False, cancel_futures=True)
    return [into / jar.name for jar in jars]


def _wait(tasks: Sequence[Future[None]], jars: Sequence[Jar], into: Path, mirror: str) -> None:
    """Waits for the downloads of `jars`, and logs where they come from and the progress."""
    if not structlog.is_configured():  # a verb without a log
        configure_logs()
    if tasks:
        _log.info("jars_downloading", count=len(jars), mirror=mirror, folder=str(into))
    pending = set(tasks)
    while pending:
        done, pending = wait(pending, PROGRESS_S, FIRST_EXCEPTION)
        for task in done:
            task.result()
        _log.info("jars_downloaded", count=len(tasks) - len(pending), of=len(tasks), megabytes=_megabytes(jars, into))


def _megabytes(jars: Sequence[Jar], into: Path) -> float:
    """Returns the size of what was downloaded of `jars`, complete or not."""
    size = 0
    for path in (path for jar in jars for path in into.glob(f"{jar.name}*")):
        with contextlib.suppress(FileNotFoundError):  # a part that was renamed meanwhile
            size += path.stat().st_size
    return round(size / 1e6, 1)


def locked(section: str) -> list[Jar]:
    """Returns a section of the lock: of the wheel, else of the repository."""
    package = Path(__file__).resolve().parents[1]
    locks = [path for path in (package / "jars.lock", package.parent / "jars.lock") if path.is_file()]
    if not locks:
        raise SetUpError(f"jars.lock is missing in {package}; install tidemark-lake again, or run a full checkout.")
    return listed(locks[0], section)


def listed(lock: Path, section: str) -> list[Jar]:
    """Returns the jars of a section of a lock file."""
    return [Jar(*line) for line in tomllib.loads(lock.read_text())[section].items()]


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder of the cache."""
    if folder := environment.get("TIDEMARK_JARS_CACHE"):
        return Path(folder).expanduser().absolute()
    # By the XDG specification a relative value must be ignored.
    xdg = environment.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg, "tidemark", "jars")
    if (own := home()) is None:
        raise SetUpError("No home directory can have the cache of jars: set HOME or TIDEMARK_JARS_CACHE to a folder.")
    return own / ".cache" / "tidemark" / "jars"


def mirror(environment: Mapping[str, str] = os.environ) -> str:
    """Returns the address of the Maven repository, without a slash at its end."""
    address = environment.get("TIDEMARK_MAVEN_MIRROR") or MAVEN_CENTRAL
    if not address.startswith(("http://", "https://")):
        raise SetUpError(f"TIDEMARK_MAVEN_MIRROR is {address!r}; it must be the http(s) address of a Maven repository.")
    if "@" in urlsplit(address).netloc:  # messages and the log repeat the address
        raise SetUpError("TIDEMARK_MAVEN_MIRROR has a user or a password, which no download would send: remove it.")
    return address.rstrip("/")


def missing(jars: Sequence[Jar], into: Path) -> list[Jar]:
    """Returns the jars that are missing in `into`, or have a wrong hash."""
    # The full hash of all of Spark's jars takes 20 ms: cheaper than reasoning about markers.
    return [jar for jar in jars if not (into / jar.name).is_file() or digest(into / jar.name) != jar.sha256]


@contextlib.contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """Locks the directory against other processes; the lock is released when the process ends, however it ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        gate = (directory / ".lock").open("w")
    except OSError as cause:
        raise SetUpError(
            f"Jars cannot be stored in {directory} ({cause.strerror}); set TIDEMARK_JARS_CACHE to a folder that this "
            "user can write, or that has all jars."
        ) from cause
    with gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Downloads the named sets and prints their paths; returns exit code 2 if a jar cannot be downloaded."""
    parser = argparse.ArgumentParser(
        prog="python -m tidemark.pipeline.runtime.jars", description="Fetch the locked jars."
    )
    parser.add_argument("sets", nargs="*", metavar="|".join(SETS), help="which jars; all if left out")
    parser.add_argument("--into", type=Path, help="a directory to use instead of the cache")
    parser.add_argument("--print", choices=LAYOUTS, dest="layout", help="print the paths in this layout")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.sets) - {*SETS}:
        parser.error(f"unknown set of jars: {', '.join(sorted(unknown))} (there are {', '.join(SETS)})")
    configure_logs()
    try:
        jars = [jar for name in chosen.sets or SETS for jar in locked(name)]
        paths = provide(jars, chosen.into or cache(), mirror())
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if chosen.layout:
        sys.stdout.write(LAYOUTS[chosen.layout].join(map(str, paths)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
