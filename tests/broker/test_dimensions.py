"""Dimensions and measures of fields through a service: every kind of windows equals a recount of what was sent."""

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.broker.any_fields import (
    DIMENSIONS,
    MEASURES,
    TIME,
    Reports,
    recount,
    sent,
    shown,
    until_now,
    with_measures,
)
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS
from tests.support.seeds import SEED, drawn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import rows
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.reading.table_reader import CurrentTables, TableReader
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.secrets import pseudonyms_from
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tuning import Tuning
from tidemark.pipeline.web.pages.paging import Slice
from tidemark.pipeline.web.pages.window_sums import rows_of_report

pytestmark = pytest.mark.broker


def as_json(event: Mapping[str, Any]) -> Raw:
    return Raw(json.dumps(event).encode(), timestamp_ms=event["event_time"])


@pytest.mark.parametrize("seed", drawn(range(8), SEED % 2))
def test_reports_by_dimensions_equal_a_recount(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, seed: int
) -> None:
    events, draw = sent(seed), random.Random(seed)
    reports = with_measures(random.Random(f"measures {seed}"))
    key = tmp_path / "key"
    key.write_text("k" * 64)
    settings = settings_of(
        broker,
        make_topic(1, **ANY_TIMESTAMP),
        tmp_path / "warehouse",
        schemas={"format": "json"},
        time=TIME,
        window={"size": "10s"},
        dimensions=DIMENSIONS,
        measures=MEASURES,
        reports=reports,
        spark={"conf": BRIEF_DRIVER, "large": draw.choice(["driver", "executors"]), "large_from": 1},
        privacy=draw.choice([{}, {"pseudonym_key_file": key}]),
    )
    tuning = Tuning(upkeep_batches=draw.choice([1, 100]), merged_runs=2)
    cuts = [0, *sorted(draw.sample(range(1, len(events)), 4)), len(events)]
    steps = [list(map(as_json, events[start:end])) for start, end in pairwise(cuts)]
    for half in (steps[:2], steps[2:]):
        with open_service(settings, now=Clock(LATER * 1_000), tuning=tuning) as service:
            take(service, broker, settings.kafka.topic, half)
    assert any(row["reason"] == "partly_late" for row in rows(settings.warehouse, "dead_letters"))
    if pseudonyms := pseudonyms_from(settings.privacy.pseudonym_key_file):
        events = [{**event, **hidden_ids(event, pseudonyms)} for event in events]
    apply_corrections(settings, LetterSelection())
    assert_conserved(settings.warehouse)
    for name in reports:
        expected = recount(events, reports, name)
        assert until_now(shown(rows(settings.warehouse, name), reports, name)) == until_now(expected), name
    _check_page(settings.warehouse, recount(events, reports, "plans"))
    reader = draw.choice([*READERS])
    live, visible = READERS[reader](settings.warehouse, "plans").to_pylist(), mergeable_by(reader, reports)
    assert shown(live, visible, "plans") == recount(events, visible, "plans")
    _check_erased(settings, reports, events, pseudonyms.of("a") if pseudonyms else "a")


def mergeable_by(reader: str, reports: Reports) -> Reports:
    """Returns the reports with the measures that a reader can compute of open windows: Spark merges some sketches."""
    of_sketches = ("prices", "said", "way", *(() if reader == "spark" else ("notes",)))
    return {
        name: {**report, "measures": [measure for measure in report["measures"] if measure not in of_sketches]}
        for name, report in reports.items()
    }


def _check_page(warehouse: str, expected: Counter[tuple[Any, ...]]) -> None:
    """Reads the rows of one value of a dimension as the page of a report does."""
    [*_, opening] = Ledger(warehouse).openings().values()
    plans = opening.report("plans")
    assert plans is not None

    def read(tables: CurrentTables, _: object) -> Slice:
        return rows_of_report(tables, plans, {"seats": "12", "vip": "true"}, None, 0)

    found = Counter((row["signed_up"], row["page_views"]) for row in TableReader(warehouse).read(read).rows)
    of_value = (row for row in expected.elements() if (row[2], row[4]) == (12, True))
    assert found == Counter((None if row[3] is None else str(row[3]), row[5]) for row in of_value)


def hidden_ids(event: Mapping[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    """Returns the user and the owner of an event by their pseudonyms."""
    user, account = pseudonyms.of(event["user_id"]), event.get("owner", {}).get("account")
    return {"user_id": user} | ({} if account is None else {"owner": {"account": pseudonyms.of(account)}})


def _check_erased(settings: Settings, reports: Reports, events: Sequence[Mapping[str, Any]], erased: str) -> None:
    """Erases a person: reports by people have nothing of it, and the others keep their counts."""
    before = {name: shown(rows(settings.warehouse, name), reports, name) for name in reports}
    erase_person(settings, "a", timedelta(0))
    assert_conserved(settings.warehouse)
    left = {
        "visits": [event for event in events if event["user_id"] != erased],
        "accounts": [event for event in events if event.get("owner", {}).get("account") != erased],
    }
    for name, counted in left.items():
        found = shown(rows(settings.warehouse, name), reports, name)
        assert until_now(found) == until_now(recount(counted, reports, name)), name
    others = {*reports} - left.keys()
    assert all(shown(rows(settings.warehouse, name), reports, name) == before[name] for name in others)
