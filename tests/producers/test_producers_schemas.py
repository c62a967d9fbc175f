"""The contract's loader."""

import io
import json
from pathlib import Path

import fastavro
import pytest

from tidemark.schemas import SECOND_ID, WRITER_ID, load_schemas

RECORD = json.dumps({"type": "record", "name": "UserEvent", "fields": []})


def write(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / f"{name.replace('__', '.')}.avsc").write_text(text, encoding="utf-8")
    return directory


def test_the_packaged_contract_has_two_versions_of_one_valid_avro_record() -> None:
    schemas = load_schemas()
    assert list(schemas) == [WRITER_ID, SECOND_ID] == [1, 2]
    for text in schemas.values():
        parsed = fastavro.parse_schema(json.loads(text))
        assert isinstance(parsed, dict)
        assert parsed["name"] == "io.tidemark.UserEvent"


def test_readers_with_the_second_version_read_events_of_the_first() -> None:
    first, second = (fastavro.parse_schema(json.loads(text)) for text in load_schemas().values())
    event = {"event_id": "e", "event_type": "click", "user_id": "ann", "event_time": 7, "page_url": "/"}
    fastavro.schemaless_writer(body := io.BytesIO(), first, event)
    body.seek(0)
    found = fastavro.schemaless_reader(body, first, second)
    assert isinstance(found, dict)
    assert (found["event_type"], found["event_name"], found["properties"]) == ("click", None, {})


def test_only_the_nullable_fields_have_a_default() -> None:
    fields = json.loads(load_schemas()[1])["fields"]
    optional = {field["name"] for field in fields if "default" in field}
    assert optional == {"session_id", "referrer", "user_agent", "element_id"}
    assert all(field["default"] is None for field in fields if "default" in field)


def test_adding_a_file_is_all_it_takes_to_add_a_version(tmp_path: Path) -> None:
    newer = RECORD.replace("[]", '[{"name": "country", "type": "string"}]')
    directory = write(tmp_path, user_event=RECORD, user_event__12=newer, user_event__2=RECORD)
    (directory / "README.md").write_text("not a schema")
    assert load_schemas(directory) == {1: RECORD, 2: RECORD, 12: newer}
    assert list(load_schemas(directory)) == [1, 2, 12]


def test_a_file_may_be_named_by_a_guid(tmp_path: Path) -> None:
    guid = "6f3f4a4e-3a30-4e8d-9d0f-7c6a1d2e3f40"
    directory = write(tmp_path, **{f"user_event__{guid}": RECORD, "user_event__2": RECORD})
    assert [*map(str, load_schemas(directory))] == ["2", guid]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"user_event": RECORD, "user_event__v2": RECORD}, "user_event.v2.avsc is not a schema"),
        ({"user_event": RECORD, "user_events": RECORD}, "id 1 is given by two files"),
        ({"user event": RECORD}, "expected <name>.avsc (id 1)"),
        ({"user_event": RECORD, "user_event__02": RECORD}, "user_event.02.avsc is not"),
        ({"user_event": RECORD, "user_event__0": RECORD}, "user_event.0.avsc is not"),
        ({"user_event": RECORD, "user_event__2147483648": RECORD}, "up to 2147483647"),
        ({"user_event": RECORD, "user_event__1": RECORD}, "id 1 is given by two files"),
        ({"user_event": RECORD[:-1]}, "is not valid JSON"),
        ({"user_event": '"string"'}, "is not an Avro record"),
        ({}, "holds no schema"),
    ],
)
def test_a_directory_that_breaks_the_rule_is_refused_in_one_sentence(
    tmp_path: Path, files: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ValueError, match="avsc") as refused:
        load_schemas(write(tmp_path, **files))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"there is no folder {tmp_path}/no with schemas: create it, or name another"):
        load_schemas(tmp_path / "no")
