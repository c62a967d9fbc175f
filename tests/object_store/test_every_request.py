"""Another writer between any two requests of a commit, and every answer lost: each commit counts once, or not."""

import json
import random
import select
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable, write_deltalake

from demo.die_with_parent import dying_with_parent
from tests.object_store.proxy import proxy
from tests.object_store.writer import ROWS, act
from tests.support.object_store import object_store
from tests.support.seeds import SEED, drawn
from tests.support.waiting import wait_for
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables.transactions import FENCED_APP

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
OURS, THEIRS = 2 * EPOCH + 1, 3 * EPOCH
NEVER: Final = 10**6
ALL: Final = 10**6
PATIENCE_S: Final = 600


@dataclass(frozen=True)
class Stage:
    """A store, a proxy before it that holds a request, and a writer that goes through the proxy."""

    gate: str
    writer: "subprocess.Popen[str]"

    def table(self, name: str) -> str:
        """Makes a table with two files of two rows."""
        uri = f"s3://tidemark/{name}"
        for _ in range(2):
            write_deltalake(uri, ROWS, mode="append")
        return uri

    def tell(self, *words: object) -> int:
        """Tells the gate; returns its answer."""
        url = f"{self.gate}/_gate/{'/'.join(map(str, words))}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310 - our own
            return int(answer.read())

    def begin(self, uri: str, how: str, at: int, fault: str) -> None:
        """Has the writer commit, up to its request number `at`."""
        self.tell("arm", at, fault)
        assert self.writer.stdin
        self.writer.stdin.write(json.dumps({"uri": uri, "how": how, "batch": OURS}) + "\n")
        self.writer.stdin.flush()

    def wait(self) -> None:
        """Waits until the request is held, or the commit has ended with fewer requests than another time."""
        wait_for(lambda: self.tell("reached") or self._has_ended, PATIENCE_S, "a request")

    @property
    def _has_ended(self) -> bool:
        assert self.writer.stdout
        return bool(select.select([self.writer.stdout], [], [], 0)[0])

    def end(self) -> str:
        """Lets the request go on, and returns what came of the commit."""
        self.tell("open")
        assert self.writer.stdout
        return self.writer.stdout.readline().strip()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with (
        pytest.MonkeyPatch.context() as patched,
        object_store(tmp_path_factory.mktemp("store")) as store,
        proxy(store.endpoint, "gate") as gate,
    ):
        for name, value in store.environment.items():
            patched.setenv(name, value)
        store.make_bucket("tidemark")
        command = dying_with_parent([sys.executable, "-m", "tests.object_store.writer"])
        patched.setenv("AWS_ENDPOINT_URL", gate)
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            patched.setenv("AWS_ENDPOINT_URL", store.endpoint)
            yield Stage(gate, writer)
            writer.kill()


def rows_after(how: str, came: str, other: str) -> int:
    """The rows that the table must have: four at first, and what each of the two has added or replaced."""
    appended = 4 + 2 * (other == "append") + 2 * (how == "append" and came == "landed")
    # One row is in the place of all with this number.
    return appended // 2 + 1 if how == "replace" and came == "landed" else appended


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("most", [2, pytest.param(ALL, marks=pytest.mark.nightly)], ids=["sample", "all"])
@pytest.mark.parametrize("other", ["append", "merge", "fence"])
@pytest.mark.parametrize("how", drawn(["append", "replace", "merge", "fence"], 2))
def test_whatever_comes_between_two_requests_a_commit_counts_once(
    how: str, other: str, most: int, stage: Stage
) -> None:
    name = f"{how}-{other}-{most}"
    stage.begin(stage.table(name), how, NEVER, "none")
    assert stage.end() == "landed"
    requests = stage.tell("count")
    assert requests > 3
    moments = [*product(range(requests), ("none", "lost"))]
    for at, fault in random.Random(f"{SEED} {name}").sample(moments, min(most, len(moments))):
        uri = stage.table(f"{name}-{at}-{fault}")
        stage.begin(uri, how, at, fault)
        stage.wait()
        assert act(uri, other, THEIRS) == "landed"
        came = stage.end()
        table = DeltaTable(uri)
        assert came in ({"landed", "replaced"} if other == "fence" else {"landed", "put off"}), (at, fault, came)
        # A row of the other's that came after the replacement stays.
        stays = {0, 1} if (how, other) == ("replace", "append") else {0}
        surplus = table.to_pyarrow_table().num_rows - rows_after(how, came, other)
        assert surplus in stays, (at, fault, came)
        if other == "fence":
            assert table.transaction_version(FENCED_APP) == THEIRS, "nothing lands after a fence"
            assert table.version() == 2 + (came == "landed"), "nothing lands twice"
