"""The one way jars come in: exactly those of jars.lock, from a Maven mirror into a per-user cache, each one verified.

Needs neither a JVM nor Maven. Two variables change where, never what:
TIDEMARK_MAVEN_MIRROR (default Maven Central) and TIDEMARK_JARS_CACHE (default ~/.cache/tidemark/jars).
"""

import argparse
import contextlib
import fcntl
import logging
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import SetUpError
from pipeline.runtime.download import WAITS_S, digest, fetch

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
AT_ONCE = 8
LAYOUTS = {"comma": ",", "classpath": os.pathsep, "lines": "\n"}

_log = logging.getLogger(__name__)


class Jar(NamedTuple):
    """One line of the lock: `group:artifact:version` and the SHA-256 of its file."""

    coordinate: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name in a repository and in the cache."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    def url(self, mirror: str) -> str:
        """The address under a Maven repository, by its standard layout."""
        group, artifact, version = self.coordinate.split(":")
        return f"{mirror}/{group.replace('.', '/')}/{artifact}/{version}/{self.name}"


def jars_of(section: str) -> list[Path]:
    """The jars of `spark`, for its driver and executors, or of the demo's `broker`, fetched if missing.

    Raises SetUpError.
    """
    return provide(locked(section), cache(), mirror())


def provide(jars: Sequence[Jar], into: Path, mirror: str, waits_s: Sequence[float] = WAITS_S) -> list[Path]:
    """Make every jar present in `into` with the right hash; the paths come in the order of `jars`.

    `waits_s` are the pauses between attempts. Raises SetUpError when one cannot be had.
    """
    if missing(jars, into):
        with _only_one(into), ThreadPoolExecutor(AT_ONCE) as pool:
            # Another process may have fetched them while this one waited.
            if absent := missing(jars, into):
                _log.info("Fetching %d jars from %s into %s", len(absent), mirror, into)
            tasks = [pool.submit(fetch, jar.url(mirror), into / jar.name, jar.sha256, waits_s) for jar in absent]
            try:
                for task in tasks:
                    task.result()
            finally:
                # One bad jar is enough to say: do not make the reader wait for forty more.
                pool.shutdown(wait=False, cancel_futures=True)
    return [into / jar.name for jar in jars]


def locked(section: str) -> list[Jar]:
    """Read one section of the lock: from the wheel, else from the repository's top level."""
    package = Path(__file__).parents[1]
    found = [path for path in (package / "jars.lock", package.parent / "jars.lock") if path.is_file()]
    if not found:
        raise SetUpError(f"jars.lock is missing beside {package}; install tidemark-lake again, or run a full checkout.")
    return listed(found[0], section)


def listed(lock: Path, section: str) -> list[Jar]:
    """Read one section of a lock file."""
    return [Jar(*line) for line in tomllib.loads(lock.read_text())[section].items()]


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Where jars are kept between runs."""
    if chosen := environment.get("TIDEMARK_JARS_CACHE"):
        return Path(chosen).expanduser().absolute()
    # The XDG specification says that a relative value is to be ignored.
    xdg = environment.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".cache") / "tidemark" / "jars"


def mirror(environment: Mapping[str, str] = os.environ) -> str:
    """The Maven repository to fetch from, without a slash at its end."""
    chosen = environment.get("TIDEMARK_MAVEN_MIRROR") or MAVEN_CENTRAL
    if not chosen.startswith(("http://", "https://")):
        raise SetUpError(f"TIDEMARK_MAVEN_MIRROR is {chosen!r}; it must be the http(s) address of a Maven repository.")
    return chosen.rstrip("/")


def missing(jars: Sequence[Jar], into: Path) -> list[Jar]:
    """Those that are not there, or not as they must be."""
    # The full hash of all of Spark's jars takes 20 ms: cheaper than reasoning about markers.
    return [jar for jar in jars if not (into / jar.name).is_file() or digest(into / jar.name) != jar.sha256]


@contextlib.contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    """Keep other processes out of the directory; the lock goes with the process, however that ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        gate = (directory / ".lock").open("w")
    except OSError as cause:
        raise SetUpError(f"Jars cannot be kept in {directory} ({cause.strerror}); set TIDEMARK_JARS_CACHE.") from cause
    with gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the named sets and print their paths; exit code 2 when that cannot be."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.runtime.jars", description="Fetch the locked jars.")
    parser.add_argument("sets", nargs="*", metavar="spark|broker", help="which jars; both if left out")
    parser.add_argument("--into", type=Path, help="a directory to use instead of the cache")
    parser.add_argument("--print", choices=LAYOUTS, dest="layout", help="print the paths in this layout")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.sets) - {"spark", "broker"}:
        parser.error(f"unknown set of jars: {', '.join(sorted(unknown))} (there are spark and broker)")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        jars = [jar for name in chosen.sets or ("spark", "broker") for jar in locked(name)]
        paths = provide(jars, chosen.into or cache(), mirror())
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if chosen.layout:
        sys.stdout.write(LAYOUTS[chosen.layout].join(map(str, paths)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
