"""Revenue by campaign and day, from events that the collector accepts, by the settings that the page has."""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from tests.producers.collect.collect_client import request_body
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.producers.collect.reading import read

pytestmark = pytest.mark.broker
PAGE: Final = Path(__file__).parents[2] / "docs" / "settings.md"
HOUR: Final = 3_600_000
BEGIN: Final = 1_790_812_800_000
ZONE: Final = ZoneInfo("Europe/Berlin")


def settings_of_page() -> dict[str, Any]:
    """Returns the settings below the heading of the example."""
    section = PAGE.read_text(encoding="utf-8").partition("### Revenue by campaign and day\n")[2]
    block = re.search(r"```toml\n(.*?)```", section, re.DOTALL)
    assert block
    return tomllib.loads(block[1])


def sent(seed: int) -> list[dict[str, Any]]:
    """Returns events of four days, two of which come a day late; some purchases have no price."""
    draw, events = random.Random(seed), []
    for number in range(300):
        kind = draw.choice(["visit", "click", "purchase", "purchase", "login"])
        late = 30 * HOUR if number in (150, 200) else draw.randrange(HOUR)
        price = draw.choice([12.5, 0.1, 3, "19.90", "free", 0.001, None])
        campaign = draw.choice([None, "spring", "\u00fc"])
        properties = {"price": price, "campaign": campaign} if kind == "purchase" or draw.random() < 0.2 else {}
        event = {
            "event_id": f"e{number}",
            "event_type": kind,
            "user_id": draw.choice("abc"),
            "event_time": BEGIN + number * HOUR // 3 - late,
            "page_url": "https://shop.example/checkout",
            "properties": {name: value for name, value in properties.items() if value is not None},
        }
        events.append(event if event["properties"] else {**event, "properties": {}})
    return [*events, {**events[0], "event_type": "visit", "event_time": BEGIN + 300 * HOUR}]


def recount(events: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str | None], tuple[int, Decimal]]:
    """Returns the number of purchases and their revenue by day and campaign; a price has at most two digits."""
    purchases, revenue = Counter[tuple[str, str | None]](), Counter[tuple[str, str | None]]()
    for event in events:
        if event["event_type"] == "purchase":
            day = datetime.fromtimestamp(event["event_time"] / 1_000, ZONE).date().isoformat()
            key = day, event["properties"].get("campaign")
            price = event["properties"].get("price")
            purchases[key] += 1
            revenue[key] += round(float(price) * 100) if price not in (None, "free", 0.001) else 0
    return {key: (count, Decimal(revenue[key]).scaleb(-2)) for key, count in purchases.items()}


def test_revenue_by_campaign_and_day_equals_a_recount(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    events, topic = sent(7), make_topic(1, **ANY_TIMESTAMP)
    time = {"bound": "2h", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}
    settings = settings_of(broker, topic, tmp_path / "warehouse", **settings_of_page(), time=time)
    values = list[Raw]()
    for event in events:
        # As if the request had come at once, so that the time is the event's.
        records, rejected = read(request_body(event, sent_at=event["event_time"]), event["event_time"], "Firefox")
        assert not rejected
        values += [Raw(record.value, timestamp_ms=event["event_time"]) for record in records]
    assert {(value.value or b"")[4] for value in values} == {1, 2}, "both versions of the contract"
    with open_service(settings, now=Clock(LATER * 1_000)) as service:
        take(service, broker, topic, [values[:140], values[140:260], values[260:]])
    letters = Counter(row["reason"] for row in rows(settings.warehouse, "dead_letters"))
    assert letters["malformed"] == sum(event["event_type"] == "login" for event in events)
    apply_corrections(settings, LetterSelection())
    assert_conserved(settings.warehouse)
    found = {
        (row["window_start"].astimezone(ZONE).date().isoformat(), row["campaign"]): (row["purchases"], row["revenue"])
        for row in rows(settings.warehouse, "revenue")
    }
    assert found == recount(events)
