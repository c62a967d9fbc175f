"""A warehouse in an object store is compared with a local one."""

from pathlib import Path

import pytest

from tests.support.object_store import object_store
from tests.verify.conftest import play
from tests.verify.plant import alter, drop
from tests.verify.site import PAGE_VIEWS_ALONE, Site
from tidemark.pipeline.reading.comparison.comparison_outcome import ComparisonOutcome
from tidemark.pipeline.reading.comparison.warehouse_comparison import compare

pytestmark = pytest.mark.slow


def test_a_warehouse_in_an_object_store_is_compared_with_a_local_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store(tmp_path / "store") as store:
        store.make_bucket("lake")
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        remote, local = "s3://lake/tidemark", tmp_path / "local"
        for place in (remote, local):
            play(Site(place, PAGE_VIEWS_ALONE).open())
        assert compare(remote, str(local)).outcome is ComparisonOutcome.EQUAL
        alter(local, "page_views", drop(user_id="bob"))
        assert compare(remote, str(local)).outcome is ComparisonOutcome.DIFFERENT
