"""A person leaves a warehouse on an object store, with the files that no version names."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from deltalake.fs import DeltaStorageHandler

from tests.support.conservation import assert_conserved
from tests.support.object_store import object_store
from tests.verify.site import POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend.erase.erasure import erase_person, persons_rows
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.slow
BUCKET = "tidemark"


def test_no_file_of_the_store_has_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store(tmp_path) as store:
        store.make_bucket(BUCKET)
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        warehouse = f"s3://{BUCKET}/warehouse"
        policy = replace(POLICY, reports=REPORTS[:1])
        Site(warehouse, policy).open().batch(Event(1, "bob"), Event(2)).batch(Event(21)).batch(Event(40))
        files = pafs.PyFileSystem(DeltaStorageHandler(f"{warehouse}/page_views"))
        with files.open_output_stream("refused.parquet") as file:
            pq.write_table(pa.table({"user_id": ["bob"]}), file)
        settings = Settings(warehouse=warehouse)
        assert persons_rows(settings, "bob")["page_views"] == 1
        erase_person(settings, "bob", timedelta(0))
        left = [
            file for file in files.get_file_info(pafs.FileSelector("", recursive=True)) if file.extension == "parquet"
        ]
        users = {
            user for file in left for user in pq.read_table(files.open_input_file(file.path))["user_id"].to_pylist()
        }
        assert users == {"ann"}
        assert_conserved(warehouse)
