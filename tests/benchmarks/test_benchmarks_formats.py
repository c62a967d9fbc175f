"""Drains of JSON and Avro are compared, on copies of the same events."""

import json

from benchmarks.formats import AVRO, JSON, figures, json_of, render
from benchmarks.task import Drain
from tests.support.topic_writer import value_of


def test_an_event_in_json_has_the_fields_of_avro_that_are_not_null() -> None:
    event = json.loads(json_of(value_of("ann", 1_714_564_800_000, "click", "/a", "e")))
    needed = {"event_id": "e", "event_type": "click", "user_id": "ann", "event_time": 1_714_564_800_000}
    assert event == {**needed, "page_url": "/a"}


def test_json_is_compared_with_avro_by_the_last_drains() -> None:
    rounds = {name: [[Drain(99.0, 1.0, 5), Drain(seconds, 2.0, 5)]] for name, seconds in ((AVRO, 2.0), (JSON, 4.0))}
    found = figures(rounds, 1_000)
    assert {name: row["of_base"] for name, row in found.items()} == {AVRO: 1.0, JSON: 0.5}
    assert render(found, 1_000).row_count == 2
