"""Dimensions through a service: every kind of windows, in JSON and Avro, equals a recount of what was sent."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.reading.pages.paging import Slice
from tidemark.pipeline.reading.pages.table_reader import CurrentTables, TableReader
from tidemark.pipeline.reading.pages.window_sums import rows_of_report
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.secrets import pseudonyms_from
from tidemark.pipeline.tables.ledger import Ledger
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

BEGIN: Final = 1_790_820_000_000 // 60_000 * 60_000
GAP_MS: Final = 4_000
DIMENSIONS: Final[dict[str, Any]] = {
    "campaign": "context.campaign.name",
    "host": {"sql": "parse_url(referrer, 'HOST')"},
    "hour": {"sql": "hour(event_time)", "type": "integer", "zone": "Europe/Berlin"},
    "seats": {"path": "traits.seats", "type": "integer"},
    "vip": {"path": "vip", "type": "boolean"},
    "signed_up": {"path": "signed_up", "type": "date"},
}
REPORTS: Final[dict[str, dict[str, Any]]] = {
    "campaigns": {"keys": ["campaign"], "measures": ["page_views", "clicks", "unique_users"]},
    "hosts": {"keys": ["host", "hour", "page_url"], "window": {"size": "20s", "slide": "10s"}},
    "plans": {"keys": ["seats", "vip", "signed_up"], "where": "event_type = 'visit'"},
    # An event that comes after its session has closed, and is not late itself, begins another: no session closes here.
    "visits": {"keys": ["user_id", "seats"], "window": {"gap": "4s"}, "allowed_lateness": "1m"},
    "threes": {"keys": ["campaign", "vip"], "window": {"count": 3}},
    "last": {"keys": ["seats", "host"], "window": {"count": 3, "slide": 2}},
}
TIME: Final = {"bound": "2s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}
Row = tuple[Any, ...]


def sent(seed: int) -> list[dict[str, Any]]:
    """Events of a minute; a twentieth is later than the bound."""
    draw = random.Random(seed)
    events = []
    for number in range(400):
        time = BEGIN + number * 150 - draw.randrange(2_000) - 20_000 * (draw.random() < 0.05)
        events.append(
            {
                "event_type": draw.choice(["visit", "visit", "click"]),
                "user_id": draw.choice("abcd"),
                "event_time": max(time, BEGIN),
                "page_url": draw.choice(["/", "/b"]),
                **draw.choice([{}, {"context": {"campaign": {"name": draw.choice(["spring", "", "\u00fc 'x"])}}}]),
                **draw.choice(
                    [{}, {"referrer": draw.choice(["https://a.example/x", "no address", "http://b.example"])}]
                ),
                **draw.choice([{}, {"traits": json.dumps({"seats": draw.choice([3, 12, "many", None])})}]),
                **draw.choice([{}, {"vip": draw.choice([True, False])}]),
                **draw.choice([{}, {"signed_up": draw.choice(["2026-05-01", "1999-12-31", "2026-13-01"])}]),
            }
        )
    return [*events, {**events[0], "user_id": "last", "event_time": BEGIN + 600_000}]


def keys_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that the dimensions of an event must have."""
    seats = json.loads(event.get("traits", "{}")).get("seats")
    signed_up = event.get("signed_up")
    local = datetime.fromtimestamp(event["event_time"] / 1000, ZoneInfo("Europe/Berlin"))
    return {
        "campaign": event.get("context", {}).get("campaign", {}).get("name"),
        "host": urlsplit(event.get("referrer", "")).hostname,
        "hour": local.hour,
        "seats": seats if isinstance(seats, int) else None,
        "vip": event.get("vip"),
        "signed_up": date.fromisoformat(signed_up) if signed_up in ("2026-05-01", "1999-12-31") else None,
        "user_id": event["user_id"],
        "page_url": event["page_url"],
    }


def recount(events: Sequence[Mapping[str, Any]], name: str) -> Counter[Row]:
    """Returns the rows that a report must have: start, end, keys, page views, clicks, and different users."""
    report = REPORTS[name]
    window = report.get("window", {"size": "10s"})
    groups = defaultdict[Row, list[tuple[int, int, str, str]]](list)
    for number, event in enumerate(events):
        if "where" in report and event["event_type"] != "visit":
            continue
        keys = tuple(keys_of(event)[key] for key in sorted(report["keys"]))
        groups[keys].append((event["event_time"], number, event["event_type"], event["user_id"]))
    found = Counter[Row]()
    for keys, group in groups.items():
        for start, end, inside in _windows(group, window):
            kinds = Counter(kind for _, _, kind, _ in inside)
            users = len({user for *_, user in inside}) if "unique_users" in report.get("measures", ()) else None
            found[start, end, *keys, kinds["visit"], kinds["click"], users] += 1
    return found


def _windows(group: list[tuple[int, int, str, str]], window: Mapping[str, Any]) -> Iterator[tuple[int, int, list[Any]]]:
    if "count" in window:
        in_order, size = sorted(group, key=lambda event: event[1]), window["count"]
        slide = window.get("slide", size)
        for end in range(slide, len(in_order) + 1, slide):
            inside = in_order[max(0, end - size) : end]
            yield min(inside)[0], max(inside)[0] + 1, inside
    elif "gap" in window:
        session = list[Any]()
        for event in sorted(group):
            if session and event[0] - session[-1][0] > GAP_MS:
                yield session[0][0], session[-1][0] + GAP_MS, session
                session = []
            session.append(event)
        yield session[0][0], session[-1][0] + GAP_MS, session
    else:
        size_ms, slide_ms = (20_000, 10_000) if "slide" in window else (10_000, 10_000)
        starts = {time // slide_ms * slide_ms - back for time, *_ in group for back in range(0, size_ms, slide_ms)}
        for start in sorted(starts):
            yield start, start + size_ms, [event for event in group if start <= event[0] < start + size_ms]


def shown(found: Sequence[Mapping[str, Any]], name: str) -> Counter[Row]:
    """Returns rows of a report in the form of `recount`."""
    keys = sorted(REPORTS[name]["keys"])
    return Counter(
        (
            milliseconds(row["window_start"]),
            milliseconds(row["window_end"]),
            *(row[key] for key in keys),
            row["page_views"],
            row.get("clicks", 0),
            row.get("unique_users"),
        )
        for row in found
    )


def until_now(rows_of: Counter[Row]) -> Counter[Row]:
    """Returns the rows of windows that the last event has ended."""
    return Counter({row: count for row, count in rows_of.items() if row[1] <= BEGIN + 590_000})


def as_json(event: Mapping[str, Any]) -> Raw:
    return Raw(json.dumps(event).encode(), timestamp_ms=event["event_time"])


@pytest.mark.parametrize("seed", drawn(range(8), 1))
def test_reports_by_dimensions_equal_a_recount(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, seed: int
) -> None:
    events, draw = sent(seed), random.Random(seed)
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
        reports=REPORTS,
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
        events = [{**event, "user_id": pseudonyms.of(event["user_id"])} for event in events]
    apply_corrections(settings, LetterSelection())
    assert_conserved(settings.warehouse)
    for name in REPORTS:
        expected = recount(events, name)
        assert until_now(shown(rows(settings.warehouse, name), name)) == until_now(expected), name
    _check_page(settings.warehouse, events)
    live = READERS[draw.choice([*READERS])](settings.warehouse, "plans").to_pylist()
    assert shown(live, "plans") == recount(events, "plans")
    erased = pseudonyms.of("a") if pseudonyms else "a"
    _check_erased(settings, [event for event in events if event["user_id"] != erased])


def _check_page(warehouse: str, events: Sequence[Mapping[str, Any]]) -> None:
    """Reads the rows of one value of a dimension as the page of a report does."""
    [*_, opening] = Ledger(warehouse).openings().values()
    plans = opening.report("plans")
    assert plans is not None

    def read(tables: CurrentTables, _: object) -> Slice:
        return rows_of_report(tables, plans, {"seats": "12", "vip": "true"}, None, 0)

    found = Counter((row["signed_up"], row["page_views"]) for row in TableReader(warehouse).read(read).rows)
    of_value = (row for row in recount(events, "plans").elements() if (row[2], row[4]) == (12, True))
    assert found == Counter((None if row[3] is None else str(row[3]), row[5]) for row in of_value)


def _check_erased(settings: Settings, events: Sequence[Mapping[str, Any]]) -> None:
    """Erases a user: reports by users have nothing of it, and the others keep their counts."""
    before = {name: shown(rows(settings.warehouse, name), name) for name in REPORTS}
    erase_person(settings, "a", timedelta(0))
    assert_conserved(settings.warehouse)
    assert until_now(shown(rows(settings.warehouse, "visits"), "visits")) == until_now(recount(events, "visits"))
    assert all(shown(rows(settings.warehouse, name), name) == before[name] for name in {*REPORTS} - {"visits"})
