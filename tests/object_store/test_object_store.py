"""On an object store a commit has its version alone; a store that would not see to that is refused."""

from collections.abc import Iterator

import pytest
from deltalake import DeltaTable

from tests.object_store.proxy import proxy
from tests.support.object_store import ObjectStore, object_store
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.tables.probe import require_conditional_writes

pytestmark = pytest.mark.slow
BUCKET = "tidemark"
ROUNDS = 5


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("store")) as store:
        store.make_bucket(BUCKET)
        yield store


@pytest.fixture(autouse=True)
def credentials(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)


def test_exactly_one_of_concurrent_writers_commits_each_version() -> None:
    for _ in range(ROUNDS):
        require_conditional_writes(f"s3://{BUCKET}/races")
    assert not DeltaTable.is_deltatable(f"s3://{BUCKET}/races")


def test_a_store_that_ignores_the_condition_is_refused_in_a_sentence(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(store.endpoint, "forgetful") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(SetUpError, match=r"let \d of 8 writers commit the same version .* needs conditional"):
            require_conditional_writes(f"s3://{BUCKET}/warehouse")


def test_a_store_that_does_not_answer_is_reported_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    where = ["--bootstrap-servers", "127.0.0.1:1", "--topic", "t", "--warehouse", f"s3://{BUCKET}/warehouse"]
    assert main(["run", *where, "--metrics.port", "0"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tidemark: the store of s3://{BUCKET}/warehouse/_probe-")
    assert " does not answer: " in line
