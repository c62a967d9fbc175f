"""Settings of measures of fields that cannot be are refused in a sentence."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function

SUM = {"sum": "price"}
DIMENSIONS = json.dumps({"plan": "plan", "owner": {"path": "owner.name", "personal": True}})


@pytest.mark.parametrize(
    ("measures", "sentence"),
    [
        ({"m": {}}, "set one of sum, min, max, avg, count_if, first, last, unique"),
        ({"m": {"sum": "a", "max": "a"}}, "a measure has one function"),
        ({"m": {"sum": {}}}, "set a path or sql: a measure has one of the two"),
        ({"m": {"sum": {"path": "a", "sql": "b"}}}, "set a path or sql"),
        ({"m": {"sum": "a b"}}, "should match pattern"),
        ({"m": {"sum": "a", "digits": 10}}, "less than or equal to 9"),
        ({"m": {"count_if": "a > 1", "digits": 1}}, "count_if has no digits"),
        ({"m": {"first": "a", "digits": 1}}, "first has no digits"),
        ({"m": SUM, "order": SUM}, "cannot be named 'order', which is a word of SQL"),
        ({"m": SUM, "page_views": SUM}, "cannot be named 'page_views'"),
        ({"m": SUM, "number_3": SUM}, "cannot be named 'number_3'"),
        ({"m": SUM, "Price": SUM}, "start with a lower-case letter"),
        ({"other": SUM}, "report few: there is no measure 'm': choose from page_views, clicks, events, "),
        ({"m": {"avg": "a"}, "m_values": SUM}, "report few has two columns m_values: rename"),
        ({"m": SUM, "plan": SUM}, "plan is a measure and a dimension: rename"),
        (
            {f"m{number or ''}": SUM for number in range(9)},
            "report few has 9 numbers, 0 texts and 0 sketches of fields",
        ),
        ({"m": SUM, **{f"m{number}": {"avg": "a"} for number in range(4)}}, "has 9 numbers, 0 texts and 0 sketches"),
        ({f"m{number or ''}": {"last": "a"} for number in range(5)}, "has 0 numbers, 5 texts and 0 sketches"),
        ({f"m{number or ''}": {"unique": "a"} for number in range(5)}, "has 0 numbers, 0 texts and 5 sketches"),
        ({"m": {"unique": "a", "digits": 1}}, "unique has no digits"),
        ({"m": SUM, "sketch_1": SUM}, "cannot be named 'sketch_1'"),
        ({"m": {"path": "a", "most": 0}}, "greater than or equal to 1"),
        ({"m": {"path": "a", "most": 1_001}}, "less than or equal to 1000"),
        ({"m": {"path": "a", "digits": 1}}, "path has no digits"),
        ({"m": {"unique": "a", "most": 3}}, "unique is no list: leave out most"),
        ({"m": {"path": "a"}, "m_cut": SUM}, "report few has two columns m_cut: rename"),
        ({"m": {"collect_set": "user_id"}}, "measures.m lists user_id, which has ids of people"),
        ({"m": {"path": {"sql": "lower(user_id)"}}}, "measures.m lists user_id, which has ids of people"),
        ({"m": {"path": "Owner.Name.First"}}, "measures.m lists owner.name, which has ids of people"),
        ({"m": {"quantiles": "a"}}, "quantiles need at: list which, such as at = [0.5, 0.95]"),
        ({"m": {"at": [0.5]}}, "set one of sum, min, max, avg, count_if, first, last, unique, quantiles"),
        ({"m": {"sum": "a", "at": [0.5]}}, "sum has no quantiles: leave out at"),
        ({"m": {"quantiles": "a", "at": [0]}}, "at has 0: a quantile is above 0 and below 1; min and max are"),
        ({"m": {"quantiles": "a", "at": [1]}}, "at has 1: a quantile is above 0 and below 1"),
        ({"m": {"quantiles": "a", "at": [95]}}, "at has 95: a quantile is above 0 and below 1"),
        ({"m": {"quantiles": "a", "at": ["nan"]}}, "at has nan: a quantile is above 0 and below 1"),
        ({"m": {"quantiles": "a", "at": [0.5, 0.99999]}}, "at has 0.99999: a quantile has up to four digits"),
        ({"m": {"quantiles": "a", "at": [0.5, 0.50]}}, "at has 0.5 twice: list each quantile once"),
        ({"m": {"quantiles": "a", "at": ["half"]}}, "should be a valid number"),
        ({"m": {"quantiles": "a", "at": [number / 20 for number in range(1, 12)]}}, "at most 10 items"),
        ({"m": {"quantiles": "a", "at": [0.5]}, "m_p50": SUM}, "report few has two columns m_p50: rename"),
        ({"m": {"quantiles": "a", "at": [0.5]}, "m_sketch": SUM}, "report few has two columns m_sketch: rename"),
        (
            {f"m{number or ''}": {"quantiles": "a", "at": [0.5, 0.9]} for number in range(5)},
            "has 0 numbers, 0 texts and 5 sketches",
        ),
    ],
)
def test_a_measure_that_cannot_be_is_refused_in_a_sentence(measures: dict[str, Any], sentence: str) -> None:
    few = {"measures": [name for name in measures if name.startswith("m")] or ["m"]}
    with pytest.raises(SetUpError, match=re.escape(sentence)):
        parsed_settings(
            f"--measures={json.dumps(measures)}", f"--reports=few={json.dumps(few)}", f"--dimensions={DIMENSIONS}"
        )


def test_a_measure_of_the_user_is_refused_where_users_have_pseudonyms(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("x" * 64)
    with pytest.raises(SetUpError, match=r"measures\.start names user_id"):
        parsed_settings('--measures=start={"first": "user_id"}', f"--privacy.pseudonym-key-file={key}")


def test_sums_of_fields_need_batches_that_cannot_exceed_64_bits() -> None:
    arguments = ('--measures=m={"avg": "price"}', '--reports=few={"measures": ["m"]}')
    assert parsed_settings(*arguments, "--batch.max-records=9000000").batch.max_records == 9_000_000
    with pytest.raises(SetUpError, match=r"report few adds up m: set batch.max_records to at most 9000000"):
        parsed_settings(*arguments, "--batch.max-records=9000001")
    extremes = ('--measures=m={"max": "price"}', '--reports=few={"measures": ["m"]}')
    assert parsed_settings(*extremes, "--batch.max-records=9000001").batch.max_records == 9_000_001


def test_measures_of_visits_need_sessions() -> None:
    visits = '--reports=few={"measures": ["bounced", "duration_ms"], "window": {"gap": "5m"}}'
    assert parsed_settings(visits).policy().reports[0].hidden == {
        *("page_views", "clicks"),
        *("first_event_ms", "last_event_ms"),
    }
    with pytest.raises(SetUpError, match="report few has bounced and duration_ms, which only sessions have: set"):
        parsed_settings(visits.replace("gap", "size"))


def test_a_report_has_its_measures_in_the_order_of_their_names_after_the_fixed_ones() -> None:
    settings = parsed_settings(
        '--measures={"revenue": {"sum": "price", "digits": 2}, "buyers": {"count_if": "price > 0"}, "z": {"sum": "a"}}',
        '--reports=sales={"measures": ["revenue", "clicks", "buyers", "page_views"]}',
    )
    (sales,) = settings.policy().reports
    assert sales.measures == ("page_views", "clicks", "buyers", "revenue")
    assert sales.field_measures == (
        FieldMeasure("buyers", Function.COUNT_IF, sql="price > 0"),
        FieldMeasure("revenue", Function.SUM, "price", digits=2),
    )
    assert [measure.part.name for measure in sales.chosen_measures[2:]] == ["number_1", "number_2"]
    assert sales.sums == ["page_views", "clicks", "buyers", "revenue"]


def test_quantiles_are_a_column_each_and_share_a_sketch() -> None:
    settings = parsed_settings(
        '--measures={"wait": {"quantiles": "s", "at": [0.999, 0.5, 0.05], "digits": 3}, "pages": {"unique": "page"}}',
        '--reports=slow={"measures": ["wait", "pages"]}',
    )
    (slow,) = settings.policy().reports
    assert slow.measures == ("pages", "wait_p5", "wait_p50", "wait_p99_9")
    assert [measure.quantile for measure in slow.chosen_measures] == [0, 500, 5_000, 9_990]
    assert [measure.part.name for measure in slow.chosen_measures] == ["sketch_1", *["sketch_2"] * 3]
    assert slow.hidden == {"pages_sketch", "wait_sketch"}
    assert slow.fold_keys == ("text of pages", "text of wait")
    assert slow.sums == []
    assert slow.estimates == [*slow.measures]


def test_a_list_has_a_column_for_what_it_leaves_out() -> None:
    settings = parsed_settings(
        '--measures={"way": {"path": "page_url"}, "seen": {"collect_set": "page_url", "most": 2}}',
        '--reports=ways={"measures": ["way", "seen"], "keys": ["page_url"]}',
    )
    (ways,) = settings.policy().reports
    assert ways.measures == ("seen", "seen_cut", "way", "way_cut")
    assert [measure.most for measure in ways.field_measures] == [2, 100]
    assert (ways.hidden, ways.sums, ways.estimates) == ({"seen_sketch", "way_sketch"}, [], [])
    assert ways.folds_events
    assert not ways.keeps_events
