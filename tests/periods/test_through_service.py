"""From the topic to `/traffic.json`: every figure equals a recount of what was sent, at many instants.

The first batch is a backlog over a change of clocks; the next ones come live, some of them late. A sample has three
days and six instants, the whole a month and twenty.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.dashboard.scene import Served, serving
from tests.periods.oracle import Oracle
from tests.periods.oracle_bars import bars_of
from tests.periods.raw_case import HOUR, MINUTE, Raw, RawCase
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED, in_turn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw as Record
from tests.support.warehouse import latest_batch
from tidemark.pipeline.app import open_service
from tidemark.pipeline.instants import now_ms
from tidemark.producers.encode import encode_one

pytestmark = pytest.mark.broker

MIDNIGHT = 1_711_839_600_000
"""2024-03-31T00:00 in Berlin, where the day has 23 hours."""
SITE = {"zone": "Europe/Berlin", "visit_gap": "30m"}
TIME = {"bound": "2m", "allowed_lateness": "3m", "idle_timeout": "1h", "max_future_skew": "1h"}
HOST = "search.example"
QUESTIONS = (
    {"period": "2024-03-31..2024-03-31", "compare": "previous"},
    {"period": "2024-04-01..2024-04-01", "compare": "previous"},
    {"period": "2024-03-30..2024-04-01", "compare": "week"},
    {"period": "2024-03-31..2024-03-31", "zone": "America/New_York", "compare": "previous"},
    {"period": "2024-03-31..2024-04-01", "zone": "Asia/Kolkata"},
    {"period": "2024-03-31..2024-03-31", "page_url": "/a", "compare": "previous"},
)
SETTINGS: dict[str, Any] = {"site": SITE, "time": TIME}


MONTH = {"period": "2024-03-03..2024-04-01", "compare": "week"}
STEPS = (40 * MINUTE, 2 * HOUR + 50 * MINUTE, 3 * MINUTE, 90 * MINUTE, 10 * HOUR)
"""The time from one batch to the next."""


@dataclass(frozen=True)
class Stream:
    """The events to send: a backlog of `events` in `days` before midnight, and a batch for each instant after it."""

    days: float
    events: int
    steps: tuple[int, ...]
    questions: tuple[dict[str, str], ...]


SAMPLE = Stream(1.25, 200, STEPS, QUESTIONS)
WHOLE = Stream(
    28,
    700,
    (*STEPS, 1 * MINUTE, 20 * MINUTE, HOUR, *STEPS[:4], 30 * MINUTE, *STEPS[:4], HOUR, MINUTE),
    (*QUESTIONS, MONTH),
)


def batches(random: Random, stream: Stream) -> Iterator[list[Raw]]:
    """Yields events in the order in which they are sent; the watermark before them is filled in later."""

    def event(time: int) -> Raw:
        user = f"u{random.randrange(6)}"
        return Raw(time, user, random.choice(("/", "/a", "/b")), random.random() < 0.3, None)

    start, now = MIDNIGHT - round(stream.days * 24) * HOUR, MIDNIGHT + 20 * HOUR
    yield [event(random.randrange(start, now)) for _ in range(stream.events)] + [event(now)]
    for step in stream.steps:
        late = [event(now - random.randrange(4 * HOUR)) for _ in range(4)]
        yield [*late, *(event(now + random.randrange(step)) for _ in range(12)), event(now + step)]
        now += step


def record_of(event: Raw) -> Record:
    """Returns an event as a record; those of the page /a come from another site."""
    fields = {
        "event_id": "e",
        "event_type": "click" if event.is_click else "visit",
        "user_id": event.user,
        "event_time": event.time,
        "page_url": event.page,
        "referrer": f"https://{HOST.title()}/q?x=1" if event.page == "/a" else None,
    }
    return Record(encode_one(fields), event.user.encode(), 0, event.time)


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(SAMPLE, id="sample", marks=in_turn(2, 4)),
        pytest.param(WHOLE, id="month", marks=pytest.mark.nightly),
    ],
)
def test_every_figure_equals_a_recount_of_what_was_sent(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, stream: Stream
) -> None:
    warehouse = tmp_path / "warehouse"
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, warehouse, **SETTINGS)
    sent, watermark, states = list[Raw](), None, Counter[str]()
    with open_service(settings, now=Clock(now_ms() + LATER)) as service, serving(warehouse) as page:
        for batch in batches(Random(SEED), stream):
            sent += [replace(event, before=watermark) for event in batch]
            take(service, broker, topic, [[record_of(event) for event in batch]])
            watermark = latest_batch(warehouse)[0]["watermark"]
            for question in stream.questions:
                case = RawCase(SEED, sent, watermark, settings.policy().reports)
                states += assert_equals_recount(page, case, question)
    assert {"final", "so far", "unknown"} <= {*states}, states
    assert_conserved(warehouse)


def assert_equals_recount(page: Served, case: RawCase, question: dict[str, str]) -> Counter[str]:
    """Asks over HTTP, compares with the oracle, and returns the number of figures by state."""
    answer = page.get(f"/traffic.json?{urlencode(question)}")
    assert answer.status == 200, answer.text
    found = json.loads(answer.text)
    zone, page_url = question.get("zone", SITE["zone"]), question.get("page_url", "")
    compare = question.get("compare", "none")
    oracle = Oracle(replace(case, zone=zone, period=question["period"], compare=compare, page=page_url, now=now_ms()))
    expected = {
        "visitors": oracle.visitors(page_url),
        "page_views": oracle.counts(False, page_url),
        "clicks": oracle.counts(True, page_url),
        **oracle.visits(),
    }
    about = f"seed {SEED}, {question}, watermark {case.watermark}"
    for name, wanted in expected.items():
        assert parts_of(found["figures"][name], wanted) == wanted, f"{about}: {name}"
    bars = [((bar["page_views"], bar["state"]), (bar["visitors"], bar["visitors_state"])) for bar in found["series"]]
    assert bars == [(bar.page_views, bar.visitors) for bar in bars_of(oracle, page_url)], about
    if not page_url:
        assert_equals_hosts(found["breakdowns"]["referring_host"], oracle, about)
        assert_equals_hosts_of_visits(found["breakdowns"]["visits_by_referring_host"], case, about)
    return Counter(figure["state"] for figure in found["figures"].values())


def assert_equals_hosts(breakdown: dict[str, Any], oracle: Oracle, about: str) -> None:
    cover = oracle.cover(oracle.start, oracle.end, oracle.timed("referring_host"))
    if not cover.owners:
        assert breakdown["state"] == "unknown", about
        return
    views = Counter(HOST if event.page == "/a" else None for event in oracle.events(cover, "") if not event.is_click)
    assert {row["key"]: row["page_views"] for row in breakdown["rows"] if row["page_views"]} == views, about


def assert_equals_hosts_of_visits(breakdown: dict[str, Any], case: RawCase, about: str) -> None:
    """Recounts the visits that began in the covered time, by the host of their first event."""
    if breakdown["state"] == "unknown":
        return
    start, until = (milliseconds(breakdown[name]) or 0 for name in ("covered_from", "covered_until"))
    began = [visit for visit in case.visits(case.report("site_visits")) if start <= visit.start < until]
    visits = Counter(HOST if visit.entry == "/a" else None for visit in began)
    assert {row["key"]: row["visits"] for row in breakdown["rows"]} == visits, about
    assert len(breakdown["rows"]) == len(visits), about


def parts_of(figure: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns what the oracle has of a figure; times in milliseconds."""
    compared = figure["compared"]
    sides: Any = None
    if compared is not None and compared["state"] == "unknown":
        sides = "unknown"
    elif compared is not None:
        until, end = milliseconds(compared["until"]), milliseconds(compared["end"])
        sides = (until, end, compared["with"], compared["value"], compared["state"])
    every = {
        "value": figure["value"],
        "state": figure["state"],
        "from": milliseconds(figure["covered_from"]),
        "until": milliseconds(figure["covered_until"]),
        "may_change_until": milliseconds(figure["may_change_until"]),
        "compared": sides,
        "mean": pytest.approx(figure.get("mean")),
    }
    return {name: every[name] for name in wanted}


def milliseconds(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1000)
