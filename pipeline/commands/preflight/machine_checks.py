"""Checks of this machine: Java, jars, matching versions, disk space, free ports."""

import os
import shutil
import socket
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tidemark.command_line.counts import counted
from tidemark.pipeline.app import serve
from tidemark.pipeline.commands.preflight.check_result import CheckResult, failure, passed, warning
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.reading.health_client import open_page
from tidemark.pipeline.runtime.jars import cache, locked, mirror, missing
from tidemark.pipeline.runtime.java import find_java, probe_java
from tidemark.pipeline.runtime.spark import CLOSED, SPARK_JARS, given_properties
from tidemark.pipeline.settings.model import MetricsSettings, Settings

_NO_CODECS: Final = (
    "is mounted as noexec, so that Java cannot load the libraries of zstd and snappy: a topic with these codecs cannot "
    "be read. Mount it with exec, or set TMPDIR to another folder"
)
_LOW_BYTES: Final = 1 << 30
_TOO_LOW_BYTES: Final = 100 << 20
_ANSWER_S: Final = 5.0
_PACKAGES: Final = ("tidemark-lake", "pyspark", "deltalake", "confluent-kafka")
_SECRET_FILE: Final = "spark.authenticate.secret.file"  # noqa: S105 - the name of a property


def check_java() -> Iterator[CheckResult]:
    """Finds the Java that Spark would use. Raises SetUpError if no Java is found."""
    home = find_java()
    java = probe_java(home / "bin" / "java")
    yield passed("java", f"Java {java.version if java else ''} in {home}")


def check_jars(jar_sets: Sequence[str] = (SPARK_JARS,)) -> Iterator[CheckResult]:
    """Checks that the locked jars of `jar_sets` are present."""
    locked_jars, folder = [jar for name in jar_sets for jar in locked(name)], cache()
    absent = missing(locked_jars, folder)
    if not absent:
        yield passed("jars", f"{counted(len(locked_jars), 'jar', 'jars')} in {folder}")
        return
    problem, url = f"missing in {folder}: {len(absent)} of {len(locked_jars)}", absent[0].url(mirror())
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_S):  # noqa: S310 - `mirror` allows http and https only
            yield warning("jars", f"{problem}: the first start downloads them from {mirror()}")
    except OSError as error:
        yield failure("jars", f"{problem}, and {mirror()} does not serve them ({error}): set TIDEMARK_MAVEN_MIRROR")


def check_versions() -> Iterator[CheckResult]:
    """Reports the versions of the packages."""
    yield passed("versions", ", ".join(f"{name} {version(name)}" for name in _PACKAGES))


def check_master(settings: Settings) -> Iterator[CheckResult]:
    """Checks that a standalone master listens; other clusters are the business of spark-submit."""
    address = settings.spark.master or ""
    if not address.startswith("spark://"):
        return
    target = urlsplit(address.split(",")[0])
    try:
        socket.create_connection((target.hostname or "", target.port or 7077), _ANSWER_S).close()
        yield passed("spark", f"a master listens at {address}")
    except OSError as error:
        yield failure("spark", f"no master listens at {address} ({error}): start it, or correct spark.master")


def check_traffic(settings: Settings) -> Iterator[CheckResult]:
    """Checks that driver and executors authenticate each other; otherwise any machine that reaches them could connect.

    It could stop batches, read events and the key of pseudonyms, and run programs as the user of the service.
    """
    conf = given_properties(settings.spark)
    master = conf.get("spark.master", "")
    if master.startswith("local"):
        is_closed = all(conf.get(name, value) == value for name, value in CLOSED.items())
        if is_closed:
            yield passed("spark", "its ports are bound to localhost, and need a secret of this run")
        else:
            yield warning("spark", f"spark.conf opens its ports to other machines: leave out {', '.join(CLOSED)}")
    elif conf.get("spark.authenticate") != "true":
        yield warning(
            "spark",
            "driver and executors do not authenticate each other: any machine that reaches their ports can stop "
            "batches and read events and keys. Set spark.authenticate and spark.network.crypto.enabled in spark.conf",
        )
    elif master.startswith("spark:") and not {"spark.authenticate.secret", _SECRET_FILE} & conf.keys():
        yield failure("spark", f"spark.authenticate needs a secret that the cluster shares: set {_SECRET_FILE}")
    elif "true" not in (conf.get("spark.network.crypto.enabled"), conf.get("spark.ssl.rpc.enabled")):
        yield warning(
            "spark", "traffic between driver and executors is not encrypted: set spark.network.crypto.enabled"
        )
    else:
        yield passed("spark", "driver and executors authenticate each other, and encrypt their traffic")


def check_metrics(settings: Settings) -> Iterator[CheckResult]:
    """Checks that the metrics endpoint can be served. Raises SetUpError if not."""
    try:
        serve(settings).close()
        yield passed("metrics", f"{settings.metrics.host} port {settings.metrics.port} is free")
    except SetUpError:
        if not _is_served_by_tidemark(settings.metrics):
            raise
        yield warning(
            "metrics",
            f"a Tidemark service listens on {settings.metrics.host} port {settings.metrics.port}: "
            "to run another one, set another metrics.port",
        )


def _is_served_by_tidemark(settings: MetricsSettings) -> bool:
    try:
        with open_page(settings, "/metrics") as page:
            return b"tidemark_" in page.read()
    except (OSError, ValueError):
        return False


def check_space(subject: str, folder: Path, setting: str) -> CheckResult:
    """Checks the free space of the disk with `folder`; `setting` can move the data to another disk."""
    free = shutil.disk_usage(folder).free
    message = f"{free / 1e9:.1f} GB are free in {folder}"
    if free < _TOO_LOW_BYTES:
        return failure(subject, f"{message}: free some space, or set {setting} to another disk")
    return warning(subject, f"{message}: that will not last") if free < _LOW_BYTES else passed(subject, message)


def check_scratch() -> Iterator[CheckResult]:
    """Checks the folder for temporary files of Spark."""
    try:
        with tempfile.TemporaryDirectory(prefix="tidemark-check-") as folder:
            yield check_space("scratch", Path(folder).parent, "TMPDIR")
            if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
                yield warning("scratch", f"{Path(folder).parent} {_NO_CODECS}")
    except OSError as error:
        yield failure("scratch", f"temporary files cannot be written ({error}): set TMPDIR to another folder")
