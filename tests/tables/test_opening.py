"""The rules of an epoch come back from their text as they were."""

import json
from importlib.metadata import version
from typing import Any

import pytest

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.lateness import closed_until
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.opening import FORMAT, Opening, Reset, read_opening

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


def test_dimensions_come_back_and_leave_reports_without_them_as_they_were() -> None:
    dimensions = {
        "seats": {"path": "a.b", "type": "integer"},
        "hour": {"sql": "hour(event_time)", "zone": "Asia/Tokyo"},
        "owner": {"path": "owner", "personal": True},
        "term": {"path": "term", "top": 9},
    }
    reports = {
        "one": {"keys": ["seats", "user_id", "hour", "owner"]},
        "other": {"keys": ["hour"]},
        "terms": {"keys": ["hour", "term"]},
        "plain": {},
    }
    opening = Opening(Settings(dimensions=dimensions, reports=reports).policy(), {})  # type: ignore[arg-type]
    assert Opening.from_text(opening.to_text()) == opening
    told = {report["name"]: report for report in json.loads(opening.to_text())["policy"]["reports"]}
    assert [each["name"] for each in told["one"]["dimensions"]] == ["hour", "owner", "seats"]
    assert [each.get("personal") for each in told["one"]["dimensions"]] == [None, True, None]
    assert [each.get("top") for each in told["terms"]["dimensions"]] == [None, 9]
    assert "dimensions" not in told["plain"]


def test_measures_of_fields_come_back_and_leave_reports_without_them_as_they_were() -> None:
    measures = {
        "revenue": {"sum": "cart.price", "digits": 2},
        "entry": {"first": {"sql": "lower(page_url)"}},
        "buyers": {"count_if": "event_type = 'click'"},
        "pages": {"unique": "page_url"},
        "wait": {"quantiles": "seconds", "at": [0.95, 0.5]},
        "way": {"path": "page_url", "most": 7},
    }
    reports = {
        "one": {"measures": ["revenue", "clicks", "entry", "pages", "wait"]},
        "other": {"measures": ["buyers", "way"]},
        "plain": {},
    }
    opening = Opening(Settings.model_validate({"measures": measures, "reports": reports}).policy(), {})
    assert Opening.from_text(opening.to_text()) == opening
    told = {report["name"]: report for report in json.loads(opening.to_text())["policy"]["reports"]}
    assert [each["name"] for each in told["one"]["field_measures"]] == ["entry", "pages", "revenue", "wait"]
    assert [each.get("quantiles") for each in told["one"]["field_measures"]] == [None, None, None, [5_000, 9_500]]
    assert told["one"]["measures"] == ["clicks", "entry", "pages", "revenue", "wait_p50", "wait_p95"]
    assert [each.get("most") for each in told["other"]["field_measures"]] == [None, 7]
    assert told["other"]["measures"] == ["buyers", "way", "way_cut"]
    assert "field_measures" not in told["plain"]


def test_its_reports_know_how_far_they_were_closed() -> None:
    opening = Opening(Settings().policy(), {"page_views": 60_000, "gone": 5})
    read = Opening.from_text(opening.to_text())
    assert read.closed == opening.closed
    assert {report.name: closed_until(report, None) for report in read.policy.reports}["page_views"] == 60_000


def test_the_text_is_json_that_says_what_the_windows_are() -> None:
    told = json.loads(Opening(Settings().policy(), {}).to_text())["policy"]
    assert told["strategy"] == {"kind": "bounded", "bound_ms": 10_000}
    assert told["reports"][0]["windows"]["kind"] == "grid"


def text(**changes: object) -> str:
    return json.dumps({**json.loads(Opening(Settings().policy(), {}).to_text()), **changes})


def test_it_names_the_format_and_the_version_that_wrote_it() -> None:
    read = read_opening(text())
    assert (read.format, read.written_by) == (FORMAT, version("tidemark-lake"))


def test_kinds_of_events_come_back() -> None:
    settings = Settings.model_validate({"schemas": {"mapping": {"kinds": {"view": "visit", "login": "login"}}}})
    assert Opening.from_text(Opening(settings.policy(), {}).to_text()).policy.has_other_kinds
    assert not read_opening(text()).policy.has_other_kinds


def test_an_opening_without_a_format_is_read() -> None:
    old = json.loads(text())
    del old["format"], old["written_by"], old["policy"]["caps_watermark"], old["policy"]["max_age_ms"]
    read = read_opening(json.dumps(old))
    assert (read.written_by, read.policy.caps_watermark) == (None, False)


def test_fields_that_a_later_version_of_the_format_added_are_ignored() -> None:
    plain = json.loads(text(sampled=True))
    plain["policy"]["sampled"] = True
    assert read_opening(json.dumps(plain)) == read_opening(text())


@pytest.mark.parametrize(
    ("opening", "sentence"),
    [
        (text(format=FORMAT + 1, written_by="9.8.7"), f"has format {FORMAT + 1}, written by version 9.8.7; this is"),
        (text(policy={}), "was written by a version before 0.1.0, or is damaged"),
        ("[]", "was written by a version before 0.1.0, or is damaged"),
        ("{", "was written by a version before 0.1.0, or is damaged"),
    ],
)
def test_an_opening_that_cannot_be_read_is_a_sentence(opening: str, sentence: str) -> None:
    with pytest.raises(SetUpError, match=sentence):
        read_opening(opening)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"measures": ["visitors_from_mars"]}, "has the measure 'visitors_from_mars', which version"),
        ({"windows": {"kind": "moons"}}, "has the windows 'moons', which version"),
        ({"top": 10}, "has the setting 'top', which version"),
        ({"field_measures": [{"name": "a", "weight": 1}]}, "has the setting of a measure 'weight', which version"),
        (
            {"field_measures": [{"name": "a", "function": "mode"}]},
            "has the function of a measure 'mode', which version",
        ),
    ],
)
def test_a_report_of_a_later_version_is_refused_in_a_sentence(part: dict[str, Any], sentence: str) -> None:
    plain = json.loads(text())
    plain["policy"]["reports"][0] |= part
    with pytest.raises(SetUpError, match=sentence):
        read_opening(json.dumps(plain))
