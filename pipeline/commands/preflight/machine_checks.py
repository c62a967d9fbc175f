"""What this machine must have: Java, jars, versions that go together, room, and a free port."""

import shutil
import socket
import tempfile
import urllib.request
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pipeline.app import serve
from pipeline.commands.preflight.check_result import CheckResult, failure, passed, warning
from pipeline.errors import SetUpError
from pipeline.reading.health_client import open_page
from pipeline.runtime.jars import cache, locked, mirror, missing
from pipeline.runtime.java import ask, find_java
from pipeline.runtime.spark import CLOSED, given_properties
from pipeline.settings.model import MetricsSettings, Settings

_LITTLE_BYTES: Final = 1 << 30
_TOO_LITTLE_BYTES: Final = 100 << 20
_ANSWER_S: Final = 5.0
_PACKAGES: Final = ("tidemark-lake", "pyspark", "delta-spark", "deltalake", "confluent-kafka")
_SECRET_FILE: Final = "spark.authenticate.secret.file"  # noqa: S105 - the name of a property
_SOURCE: Final = ":spark-sql-kafka-0-10_"


def java() -> Iterator[CheckResult]:
    """The Java that Spark would run on. Raises SetUpError where there is none."""
    home = find_java()
    found = ask(home / "bin" / "java")
    yield passed("java", f"Java {found.version if found else ''} in {home}")


def jars() -> Iterator[CheckResult]:
    """Whether the locked jars are there, and of the version of Spark."""
    wanted, into = locked("spark"), cache()
    source = next(jar.coordinate for jar in wanted if _SOURCE in jar.coordinate)
    if _line(source.rpartition(":")[2]) != _line(version("pyspark")):
        yield failure(
            "jars", f"jars.lock has {source}, but PySpark is {version('pyspark')}: install tidemark-lake again"
        )
    absent = missing(wanted, into)
    if not absent:
        yield passed("jars", f"all {len(wanted)} in {into}")
        return
    lack, url = f"{len(absent)} of {len(wanted)} are not in {into}", absent[0].url(mirror())
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_S):  # noqa: S310 - `mirror` lets http and https through only
            yield warning("jars", f"{lack}: the first start fetches them from {mirror()}")
    except OSError as error:
        yield failure("jars", f"{lack}, and {mirror()} does not give them ({error}): set TIDEMARK_MAVEN_MIRROR")


def _line(release: str) -> list[str]:
    """The releases that go together: of 4.0.5 it is 4.0."""
    return release.split(".")[:2]


def versions() -> Iterator[CheckResult]:
    """What would run."""
    yield passed("versions", ", ".join(f"{name} {version(name)}" for name in _PACKAGES))


def master(settings: Settings) -> Iterator[CheckResult]:
    """Whether a standalone master listens; of other clusters spark-submit knows more."""
    address = settings.spark.master or ""
    if not address.startswith("spark://"):
        return
    place = urlsplit(address.split(",")[0])
    try:
        socket.create_connection((place.hostname or "", place.port or 7077), _ANSWER_S).close()
        yield passed("spark", f"a master listens at {address}")
    except OSError as error:
        yield failure("spark", f"no master listens at {address} ({error}): start it, or correct spark.master")


def traffic(settings: Settings) -> Iterator[CheckResult]:
    """Whether driver and executors ask each other who they are: otherwise any machine that reaches them may take part.

    A stranger could stop batches, read events and the key of pseudonyms, and run programs as the user of the service.
    """
    conf = given_properties(settings.spark)
    master = conf.get("spark.master", "")
    if master.startswith("local"):
        is_closed = all(conf.get(name, value) == value for name, value in CLOSED.items())
        if is_closed:
            yield passed("spark", "its ports are open to this machine alone, and ask for a secret of this run")
        else:
            yield warning("spark", f"spark.conf opens its ports to strangers: leave out {', '.join(CLOSED)}")
    elif conf.get("spark.authenticate") != "true":
        yield warning(
            "spark",
            "driver and executors do not ask each other who they are: whoever reaches their ports can stop batches and "
            "read events and keys. Set spark.authenticate and spark.network.crypto.enabled in spark.conf",
        )
    elif master.startswith("spark:") and not {"spark.authenticate.secret", _SECRET_FILE} & conf.keys():
        yield failure("spark", f"spark.authenticate needs a secret that the cluster knows: set {_SECRET_FILE}")
    elif "true" not in (conf.get("spark.network.crypto.enabled"), conf.get("spark.ssl.rpc.enabled")):
        yield warning(
            "spark", "what driver and executors send each other can be read: set spark.network.crypto.enabled"
        )
    else:
        yield passed("spark", "driver and executors ask each other for a secret, and speak encrypted")


def metrics(settings: Settings) -> Iterator[CheckResult]:
    """Whether the endpoint could be served. Raises SetUpError where not."""
    try:
        serve(settings).close()
        yield passed("metrics", f"{settings.metrics.host} port {settings.metrics.port} is free")
    except SetUpError:
        if not _is_served_by_tidemark(settings.metrics):
            raise
        yield warning(
            "metrics",
            f"a Tidemark service listens on {settings.metrics.host} port {settings.metrics.port}: "
            "beside it a start needs another metrics.port",
        )


def _is_served_by_tidemark(settings: MetricsSettings) -> bool:
    try:
        with open_page(settings, "/metrics") as page:
            return b"tidemark_" in page.read()
    except (OSError, ValueError):
        return False


def room(about: str, folder: Path, setting: str) -> CheckResult:
    """How much a disk has left."""
    free = shutil.disk_usage(folder).free
    said = f"{free / 1e9:.1f} GB are free in {folder}"
    if free < _TOO_LITTLE_BYTES:
        return failure(about, f"{said}: make room, or set {setting} to another place")
    return warning(about, f"{said}: that will not last") if free < _LITTLE_BYTES else passed(about, said)


def scratch() -> Iterator[CheckResult]:
    """Where Spark keeps what it does not need for long."""
    try:
        with tempfile.TemporaryDirectory(prefix="tidemark-check-") as folder:
            yield room("scratch", Path(folder).parent, "TMPDIR")
    except OSError as error:
        yield failure("scratch", f"temporary files cannot be written ({error}): set TMPDIR to another folder")
