"""The rules of an epoch come back from their text as they were."""

import json

import pytest

from pipeline.settings import Settings
from pipeline.tables.policies import from_text, to_text

WINDOWS = [
    {"size": "10m", "slide": "1m", "offset": "5s"},
    {"size": "1d", "zone": "Europe/Berlin"},
    {"gap": "30m"},
]


@pytest.mark.parametrize("window", WINDOWS)
def test_every_kind_of_window_comes_back(window: dict[str, str]) -> None:
    reports = {"one": {"keys": ["user_id", "page_url"], "where": "event_type = 'click'"}, "other": {"window": window}}
    policy = Settings(time={"bound": "7s", "of": "ingestion"}, reports=reports).policy()  # type: ignore[arg-type]
    assert from_text(to_text(policy)) == policy


def test_the_text_is_json_that_says_what_the_windows_are() -> None:
    told = json.loads(to_text(Settings().policy()))
    assert told["bound_ms"] == 10_000
    assert told["reports"][0]["windows"]["kind"] == "grid"
