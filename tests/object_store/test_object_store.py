"""On an object store a commit has its version alone, and what stands on that holds; other stores are refused."""

import copy
from collections.abc import Iterator

import pytest
from deltalake import DeltaTable

from pipeline.cli import main
from pipeline.commands.verify.laws import verify
from pipeline.errors import Replaced, SetUpError
from pipeline.tables.probe import require_one_winner
from tests.object_store.forgetful import forgetful
from tests.support.object_store import ObjectStore, object_store
from tests.support.warehouse import page_views, rows
from tests.verify.conftest import play
from tests.verify.site import MINUTE, NOON, PAGE_VIEWS_ALONE, Event, Site

pytestmark = pytest.mark.slow
BUCKET = "tidemark"
ROUNDS = 5


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("store")) as store:
        store.make_bucket(BUCKET)
        yield store


@pytest.fixture(autouse=True)
def told(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)


def test_of_writers_that_begin_at_once_one_has_the_version_each_time() -> None:
    for _ in range(ROUNDS):
        require_one_winner(f"s3://{BUCKET}/races")
    assert not DeltaTable.is_deltatable(f"s3://{BUCKET}/races")


def test_a_batch_of_a_service_that_died_is_void_and_a_replaced_one_is_refused() -> None:
    warehouse = f"s3://{BUCKET}/epochs"
    older = play(Site(warehouse, PAGE_VIEWS_ALONE).open())
    before = page_views(warehouse)
    older.batch(Event(33, "eve"), commit=False)
    newer = copy.copy(older).open()
    assert "eve" not in {row["user_id"] for row in rows(warehouse, "panes")}
    with pytest.raises(Replaced, match="another service has opened epoch 2 on this warehouse; this one was epoch 1"):
        older.batch(Event(34, "eve"))
    newer.batch(Event(33, "fay"), Event(47)).compact().correct()
    verification = verify(warehouse)
    assert verification.is_sound, [breach.sentence for breach in verification.breaches]
    # The window that fired since, and the one that an event came too late for.
    fired = {(user, NOON + 30 * MINUTE, NOON + 40 * MINUTE): (1, 0, 0) for user in ("ann", "dan", "fay")}
    corrected = {("dan", NOON, NOON + 10 * MINUTE): (1, 0, 1)}
    assert page_views(warehouse) == {**before, **fired, **corrected}


def test_a_store_that_ignores_the_condition_is_refused_in_a_sentence(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with forgetful(store.endpoint) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(SetUpError, match=r"let \d of 8 writers have the same version .* needs conditional"):
            require_one_winner(f"s3://{BUCKET}/warehouse")


@pytest.mark.parametrize(
    ("variable", "value"),
    [("AWS_SECRET_ACCESS_KEY", "wrong"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:1")],
    ids=["a wrong key", "a wrong address"],
)
def test_a_store_that_does_not_let_us_in_is_told_in_a_sentence(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    where = ["--bootstrap-servers", "127.0.0.1:1", "--topic", "t", "--warehouse", f"s3://{BUCKET}/warehouse"]
    assert main(["run", *where, "--metrics.port", "0"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tidemark: the warehouse s3://{BUCKET}/warehouse cannot be written: ")
