"""Every test may ask for a Kafka cluster, and for topics of its own."""

import gc
import itertools
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.kafka_cluster import Cluster, any_cluster

# The fixtures of a test set its markers, so `-m "not jvm and not broker"` finds every test.
MARKERS = {"broker": ("broker", "jvm"), "spark": ("jvm",)}

# pyarrow tries to import it six times for each file of a table that a test reads.
if find_spec("dateutil") is None:
    sys.modules["dateutil"] = None  # type: ignore[assignment]

# Random streams are judged by what they show, not by how long a busy machine takes. Few are enough between two edits.
settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=5)
settings.load_profile("full")

WHOLLY_MARKED = re.compile(r"^pytestmark = .*$", re.MULTILINE)
LONGEST = "tests/transcripts/test_service.py"
DEADLINE_S = float(os.environ.get("TESTS_DEADLINE", "inf"))
"""No long test starts after this time, in seconds since 1970. (A name with TIDEMARK_ would be taken for a setting.)"""
RULED_OUT = re.compile(r"not \w+( and not \w+)*")

# Py4J drops the sockets of threads that have ended; they are of this machine, and Spark's.
PY4J_SOCKETS = r"ignore:unclosed <socket\.socket fd=\d+, family=2, .*laddr=\('127\.0\.0\.1':ResourceWarning"


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but not those of others."""
    config.addinivalue_line("filterwarnings", PY4J_SOCKETS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module that is marked as a whole and left out by that is not imported either, which would take seconds."""
    if collection_path.suffix != ".py" or not RULED_OUT.fullmatch(config.option.markexpr):
        return None
    marked = WHOLLY_MARKED.search(collection_path.read_text())
    left_out = {word for word in config.option.markexpr.split() if word not in ("not", "and")}
    return True if marked and left_out & set(re.findall(r"mark\.(\w+)", marked[0])) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the fixtures it uses, and by whether it asks for more time than others have.

    The slowest file comes first: at the end one worker would be busy with it alone.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    for item in items:
        patience = item.get_closest_marker("timeout")
        if patience and patience.args[0] > float(item.config.getini("timeout")):
            item.add_marker("long")
        for fixture in set(getattr(item, "fixturenames", ())) & MARKERS.keys():
            for marker in MARKERS[fixture]:
                item.add_marker(marker)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips long tests when CI's time is nearly over: a run that is cut off would have no result at all."""
    if item.get_closest_marker("long") and time.time() > DEADLINE_S:
        pytest.skip("the time for long tests is over: run it with `make test-all`")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector off imported modules, which stay in memory anyway."""
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
