"""Every test may ask for a Kafka cluster, and for topics of its own."""

import gc
import itertools
import os
import shutil
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from dev.connector import refresh
from tests.mutants.hunt import first_finders
from tests.support import collection, durations, skips
from tests.support.kafka_cluster import Cluster, any_cluster
from tests.support.seeds import SEED, turn
from tidemark.pipeline.runtime.connector import JAR

# The fixtures of a test set its markers, so `-m "not jvm and not broker"` finds every test.
SLOW = {"jvm", "broker", "slow"}
MARKERS = {"broker": ("broker", "jvm"), "spark": ("jvm",)}

# pyarrow tries to import it six times for each file of a table that a test reads.
if find_spec("dateutil") is None:
    sys.modules["dateutil"] = None  # type: ignore[assignment]

# Random streams are judged by what they show, not by how long a busy machine takes. Few are enough between two edits.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=5)
settings.load_profile("full")

SECONDS = dict[str, float]()
NIGHTLY_S = 3600
"""The limit of a test that runs by night, some of which are all that a sample in CI is drawn from."""
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest creates a folder of its own in it
ENOUGH_BYTES = 1 << 30

# Py4J drops the sockets of threads that have ended; they are of this machine, and Spark's.
PY4J_SOCKETS = r"ignore:unclosed <socket\.socket fd=\d+, family=2, .*laddr=\('127\.0\.0\.1':ResourceWarning"


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but not those of others. Fast tests have their files in memory.

    The connector is compiled again if a source has changed since `make setup`.
    """
    if JAR.is_file() and not hasattr(config, "workerinput"):
        refresh()
    config.addinivalue_line("filterwarnings", PY4J_SOCKETS)
    if collection.left_out(config) >= SLOW:
        # Each worker of xdist has a core: delta-rs would let a thread for each core wait for work in each of them.
        os.environ.setdefault("TOKIO_WORKER_THREADS", "1")
        if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module that is marked as a whole and left out by that is not imported either, which would take seconds."""
    left_out = collection.left_out(config)
    is_left_out = left_out and collection_path.suffix == ".py" and left_out & collection.markers_of(collection_path)
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_collection_modifyitems")
def draw_few_constants(config: pytest.Config) -> Generator[None, None, None]:
    """Keeps the profile `quick` from parsing each module for constants, which few examples would rarely draw.

    Hypothesis reads hundreds of modules for them after each collection, and sorts thousands of constants at each draw.
    """
    if config.getoption("--hypothesis-profile") == "quick":
        providers._get_local_constants = Constants
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Has `--dist loadfile` keep the files that read by Spark together."""
    return collection.by_file(config, log) if config.option.dist == "loadfile" else None


def pytest_report_header() -> str:
    """Prints the seed of random examples; `TESTS_SEED=...` repeats a run."""
    return f"TESTS_SEED={SEED}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test by the fixtures that it requests and by the time of its file; the longest files start first.

    Of the long tests of a file every third one takes its turn, but the first finders of mutants always run.
    """
    seconds = durations.kept()
    items.sort(key=lambda item: -seconds.get(durations.file_of(item.nodeid), 0))
    finders, numbers = first_finders(), Counter[str]()
    for item in items:
        for fixture in set(getattr(item, "fixturenames", ())) & MARKERS.keys():
            for marker in MARKERS[fixture]:
                item.add_marker(marker)
        markers = {marker.name for marker in item.iter_markers()}
        is_long = seconds.get(durations.file_of(item.nodeid), 0) >= durations.LONG_S
        if is_long and markers & SLOW and "core" not in markers:
            item.add_marker("long")
            if not markers & {"drawn", "nightly"} and item.nodeid not in finders:
                item.add_marker("in_turn")
                item.add_marker(turn(file := durations.file_of(item.nodeid), numbers[file]))
                numbers[file] += 1
                markers = {marker.name for marker in item.iter_markers()}
        if "nightly" in markers:
            item.add_marker(pytest.mark.timeout(NIGHTLY_S))
    collection.note(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fails a test that was skipped for a reason that CI does not allow."""
    report = yield
    if skips.STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not skips.is_allowed(reason):
            report.outcome, report.longrepr = "failed", skips.failure(reason)
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up the time of each test, with its set-up; prints a failure at once if the run may be cut off."""
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0) + report.duration
    if report.failed and "TESTS_FAILURES_AT_ONCE" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stderr.write(f"\n{report.nodeid}:\n{report.longreprtext}\n")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes how long the tests took; workers of xdist leave it to the process that started them."""
    if SECONDS and not hasattr(session.config, "workerinput"):
        durations.write(SECONDS)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector off imported modules, which stay in memory anyway, and has it look more rarely."""
    gc.set_threshold(20_000)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One Kafka for the whole session; tests keep apart by their topics."""
    with any_cluster(tmp_path_factory.mktemp("broker")) as cluster:
        yield cluster


@pytest.fixture
def make_topic(broker: Cluster) -> Callable[..., str]:
    """Create a topic with a name of its own: `make_topic(partitions=4, retention_ms=-1) -> name`."""
    session, numbers = uuid.uuid4().hex[:8], itertools.count(1)

    def make(partitions: int = 1, **config: object) -> str:
        name = f"test-{session}-{next(numbers)}"
        broker.create_topic(name, partitions, **config)
        return name

    return make
