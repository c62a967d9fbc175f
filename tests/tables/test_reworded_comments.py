"""A warehouse whose columns have other comments is served, corrected and erased from: a comment is no schema."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.conservation import violations
from tests.support.warehouse import rows
from tests.verify.conftest import play
from tests.verify.site import POLICY, Event, Site
from tidemark.pipeline.cli import main
from tidemark.pipeline.tables.dictionary import COMMENT
from tidemark.pipeline.tables.schemas import LEDGER

pytestmark = pytest.mark.slow
LATER = "erased"


def reworded(schema: dict[str, Any], without: str) -> dict[str, Any]:
    """Returns the schema of a table with another comment for every column, and without one of the columns."""
    fields = [field for field in schema["fields"] if field["name"] != without]
    for field in fields:
        field["metadata"] = {COMMENT: f"Formerly: {field['metadata'].get(COMMENT)}"}
    return {**schema, "fields": fields}


def actions(lines: list[str], without: str) -> Iterator[str]:
    for line in lines:
        action = json.loads(line)
        if metadata := action.get("metaData"):
            metadata["schemaString"] = json.dumps(reworded(json.loads(metadata["schemaString"]), without))
        yield json.dumps(action)


def reword(warehouse: Path) -> int:
    """Gives each column of each table another comment, and takes a later column from the ledger; counts the tables."""
    logs = [*warehouse.glob("*/_delta_log")]
    for log in logs:
        for entry in log.glob("*.json"):
            without = LATER if log.parent.name == LEDGER.name else ""
            entry.write_text("\n".join(actions(entry.read_text().splitlines(), without)) + "\n")
    return len(logs)


def test_it_is_served_corrected_merged_and_erased_from(tmp_path: Path) -> None:
    site = play(Site(tmp_path, POLICY).open()).correct()
    site.dead.clear()
    assert reword(tmp_path) > 5
    site.open().batch(Event(33), Event(1, "eve")).correct().compact()
    assert violations(str(tmp_path)) == []
    assert LATER in {field.name for field in DeltaTable(LEDGER.uri(str(tmp_path))).schema().fields}
    assert main(["erase", "--user", "eve", "--yes", "--warehouse", str(tmp_path)]) == 0
    assert "eve" not in {row["user_id"] for row in rows(tmp_path, "page_views")}
    site.open().batch(Event(50))
    assert violations(str(tmp_path)) == []
