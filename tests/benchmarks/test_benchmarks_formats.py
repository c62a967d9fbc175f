"""Drains of JSON and Avro are compared, on copies of the same events, by Tidemark and by Flink."""

import json
from pathlib import Path

import pytest

from benchmarks.cli import main
from benchmarks.formats import BASE, figures, json_of, render
from benchmarks.task import Drain
from tests.support.topic_writer import value_of


def test_an_event_in_json_has_the_fields_of_avro_that_are_not_null() -> None:
    event = json.loads(json_of(value_of("ann", 1_714_564_800_000, "click", "/a", "e")))
    needed = {"event_id": "e", "event_type": "click", "user_id": "ann", "event_time": 1_714_564_800_000}
    assert event == {**needed, "page_url": "/a"}


def test_json_is_compared_with_avro_by_the_last_drains() -> None:
    taken = {BASE: 2.0, "tidemark, json": 4.0}
    rounds = {name: [[Drain(99.0, 1.0, 5), Drain(seconds, 2.0, 5)]] for name, seconds in taken.items()}
    found = figures(rounds, 1_000)
    assert {name: row["of_base"] for name, row in found.items()} == {BASE: 1.0, "tidemark, json": 0.5}
    assert render(found, 1_000).row_count == 2


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.nightly
def test_tidemark_reads_json_and_avro(tmp_path: Path) -> None:
    """Flink is left to `make bench ARGS=--quick`: each contestant and format is a process of half a minute."""
    options = ["--jobs", "ours", "--events", "200000", "--drains", "1", "--backlog-users", "50000"]
    assert main(["--only", "formats", *options], tmp_path) == 0
    document = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert {*document["formats"]} == {"tidemark, avro", "tidemark, json"}
