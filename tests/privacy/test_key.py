"""The key of pseudonyms: its file, the keys that are refused, and the fingerprint that recognises it."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.verify.site import POLICY
from tidemark.pipeline.decoding.decode import projection_of
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.fold.pseudonym_columns import require_one_name
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.secrets import pseudonyms_from
from tidemark.pipeline.tables.opening import Opening, require_key
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

KEY, OTHER = (Pseudonyms(text * 32) for text in (b"k", b"o"))


def test_a_key_is_read_from_its_file_without_the_line_break(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{'k' * 32}\n")
    pseudonyms = pseudonyms_from(tmp_path / "key")
    assert pseudonyms is not None
    assert pseudonyms.of("ann") == KEY.of("ann") != OTHER.of("ann")
    assert pseudonyms_from(None) is None


@pytest.mark.parametrize(
    ("text", "sentence"), [("short", "has 5 characters; it needs at least"), ("", "is empty"), (None, "cannot be read")]
)
def test_an_invalid_key_is_refused_and_not_printed(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / "key").write_text(text)
    with pytest.raises(SetUpError, match=f"privacy.pseudonym_key_file .*{sentence}") as refused:
        pseudonyms_from(tmp_path / "key")
    assert "short" not in str(refused.value)


@pytest.mark.parametrize(
    ("before", "now", "sentence"),
    [
        (KEY, OTHER, "pseudonyms of another key"),
        (KEY, None, "privacy.pseudonym_key_file is not set"),
        (None, KEY, "users in clear: unset privacy.pseudonym_key_file"),
    ],
)
def test_a_key_that_is_not_the_warehouses_is_refused(
    before: Pseudonyms | None, now: Pseudonyms | None, sentence: str
) -> None:
    opening = Opening.from_text(Opening(POLICY, {}, pseudonyms=before.fingerprint if before else None).to_text())
    require_key(opening, before, "/w")
    with pytest.raises(SetUpError, match=sentence):
        require_key(opening, now, "/w")


def test_a_fingerprint_is_no_pseudonym_and_differs_between_keys() -> None:
    assert KEY.fingerprint != OTHER.fingerprint
    assert KEY.fingerprint not in {KEY.of(user) for user in ("", "tidemark", "\ufffdtidemark")}
    assert "k" * 32 not in f"{KEY!r} {KEY.fingerprint}"


@pytest.mark.parametrize("sql", ["user_id <> 'bot'", "lower(USER_ID) LIKE 'bot%'"])
def test_a_filter_by_user_is_refused_where_there_are_pseudonyms(tmp_path: Path, sql: str) -> None:
    told: dict[str, Any] = {"reports": {"few": {"where": sql}}}
    assert Settings(**told).reports["few"].where == sql
    with pytest.raises(ValidationError, match="names user_id, but privacy"):
        Settings(**told | {"privacy": {"pseudonym_key_file": tmp_path / "key"}})


@pytest.mark.parametrize(
    "field", [{"name": "user_id", "aliases": ["uid"]}, {"name": "uid", "aliases": ["user_id"]}], ids=["new", "old"]
)
def test_an_alias_of_the_user_is_refused(field: dict[str, Any]) -> None:
    schema: dict[str, Any] = json.loads(load_schemas()[1])
    others = [other for other in schema["fields"] if other["name"] != "user_id"]
    schemas = EventSchemas({1: json.dumps({**schema, "fields": [{**field, "type": "string"}, *others]})})
    require_one_name(projection_of(schemas, "page_url = '/'").same_as_user())
    with pytest.raises(SetUpError, match="names uid, which is another name of user_id"):
        require_one_name(projection_of(schemas, "uid = '/'").same_as_user())
