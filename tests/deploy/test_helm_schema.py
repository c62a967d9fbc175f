"""The schema of Helm's values is generated from the settings."""

import json

from dev.helm_schema import SCHEMA, text


def test_the_schema_is_that_of_the_settings_without_secrets() -> None:
    assert SCHEMA.read_text() == text(), "make pages"
    assert "writeOnly" not in str(json.loads(SCHEMA.read_text())["$defs"]["SaslSettings"])
