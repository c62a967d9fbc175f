"""The rules of an epoch come back from their text as they were."""

import json

import pytest

from pipeline.event_time.lateness import closed_until
from pipeline.settings.model import Settings
from pipeline.tables.opening import Opening, Reset

WINDOWS = [
    {"size": "10m", "slide": "1m", "offset": "5s"},
    {"size": "1d", "step": "1h", "offset": "6h"},
    {"size": "1d", "zone": "Europe/Berlin"},
    {"gap": "30m"},
]


@pytest.mark.parametrize("window", WINDOWS)
def test_every_kind_of_window_comes_back(window: dict[str, str]) -> None:
    reports = {"one": {"keys": ["user_id", "page_url"], "where": "event_type = 'click'"}, "other": {"window": window}}
    policy = Settings(time={"bound": "7s", "of": "ingestion"}, reports=reports).policy()  # type: ignore[arg-type]
    opening = Opening(policy, {}, "cluster", "topic", 17, Reset(5, "a clock was wrong"))
    assert Opening.from_text(opening.to_text()) == opening


def test_its_reports_know_how_far_they_were_closed() -> None:
    opening = Opening(Settings().policy(), {"page_views": 60_000, "gone": 5})
    read = Opening.from_text(opening.to_text())
    assert read.closed == opening.closed
    assert {report.name: closed_until(report, None) for report in read.policy.reports}["page_views"] == 60_000


def test_the_text_is_json_that_says_what_the_windows_are() -> None:
    told = json.loads(Opening(Settings().policy(), {}).to_text())["policy"]
    assert told["strategy"] == {"kind": "bounded", "bound_ms": 10_000}
    assert told["reports"][0]["windows"]["kind"] == "grid"
