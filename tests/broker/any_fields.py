"""Events with further fields, reports by dimensions and with measures of fields, and a recount of what was sent."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from tests.support.warehouse import hashable, milliseconds

BEGIN: Final = 1_790_820_000_000 // 60_000 * 60_000
GAP_MS: Final = 4_000
DIMENSIONS: Final[dict[str, Any]] = {
    "account": {"path": "owner.account", "personal": True},
    "campaign": "context.campaign.name",
    "host": {"sql": "parse_url(referrer, 'HOST')"},
    "hour": {"sql": "hour(event_time)", "type": "integer", "zone": "Europe/Berlin"},
    "seats": {"path": "traits.seats", "type": "integer"},
    "vip": {"path": "vip", "type": "boolean"},
    "signed_up": {"path": "signed_up", "type": "date"},
}
MEASURES: Final[dict[str, dict[str, Any]]] = {
    "average": {"avg": "cart.price", "digits": 2},
    "buyers": {"count_if": "event_type = 'click' AND note IS NOT NULL"},
    "entry": {"first": "note"},
    "exit": {"last": {"sql": "lower(note)"}},
    "highest": {"max": {"path": "cart.price"}, "digits": 1},
    "lowest": {"min": "cart.price", "digits": 9},
    "revenue": {"sum": "cart.price", "digits": 2},
    "notes": {"unique": "note"},
    "prices": {"quantiles": "cart.price", "at": [0.9, 0.25], "digits": 3},
    "said": {"collect_set": "note", "most": 2},
    "way": {"path": {"sql": "lower(note)"}, "most": 3},
    "weeks": {"sum": {"sql": "try_cast(get_json_object(traits, '$.seats') AS bigint) div 7"}},
}
REPORTS: Final[dict[str, dict[str, Any]]] = {
    "campaigns": {"keys": ["campaign"], "measures": ["page_views", "clicks", "unique_users"]},
    "hosts": {"keys": ["host", "hour", "page_url"], "window": {"size": "20s", "slide": "10s"}},
    "plans": {"keys": ["seats", "vip", "signed_up"], "where": "event_type = 'visit'"},
    # An event that comes after its session has closed, and is not late itself, begins another: no session closes here.
    "visits": {"keys": ["user_id", "seats"], "window": {"gap": "4s"}, "allowed_lateness": "1m"},
    "accounts": {"keys": ["account", "page_url"]},
    "threes": {"keys": ["campaign", "vip"], "window": {"count": 3}},
    "last": {"keys": ["seats", "host"], "window": {"count": 3, "slide": 2}},
}
TIME: Final = {"bound": "2s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}
COLUMNS: Final = {
    "prices": ["prices_p25", "prices_p90"],
    "said": ["said", "said_cut"],
    "way": ["way", "way_cut"],
}
"""The columns of measures that have several."""
_PRICES: Final = (12.34, 0, 3, -7.5, "8.25", "8.250", 1e2, 0.125, 5e-10, 1e13, "free", None, True, [1], "")
Row = tuple[Any, ...]
Event = Mapping[str, Any]
Reports = Mapping[str, Mapping[str, Any]]


def with_measures(draw: random.Random) -> dict[str, dict[str, Any]]:
    """Returns the reports with some of the measures of fields each; the first and the fourth have all texts."""
    drawn = {name: draw.sample(sorted(MEASURES), 4) for name in REPORTS}
    drawn |= {name: [*{*drawn[name], "entry", "exit"}] for name in ("campaigns", "visits")}
    kinds: list[dict[str, Any]] = [{}, {"window": {"gap": "4s"}, "allowed_lateness": "1m"}, {"window": {"count": 3}}]
    kinds += [{"window": {"count": 3, "slide": 2}}, {"window": {"size": "20s", "slide": "10s"}}]
    by_people = {**REPORTS["accounts"], **draw.choice(kinds)}
    usual = ["page_views", "clicks"]
    return {
        name: {**report, "measures": [*report.get("measures", usual), *drawn[name]]}
        for name, report in {**REPORTS, "accounts": by_people}.items()
    }


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
                **draw.choice([{}, {"owner": {"account": draw.choice(["a", "b", "", None])}}]),
                **draw.choice([{}, {"cart": {"price": draw.choice(_PRICES)}}]),
                **draw.choice([{}, {"note": draw.choice(["", "B", "a", "~ \u00fc", "\U0001f600", "7", None])}]),
            }
        )
    return [*events, {**events[0], "user_id": "last", "event_time": BEGIN + 600_000}]


def seats_of(event: Event) -> int | None:
    """Returns the number of seats; None without a number."""
    seats = json.loads(event.get("traits", "{}")).get("seats")
    return seats if isinstance(seats, int) else None


def keys_of(event: Event) -> dict[str, Any]:
    """Returns the values that the dimensions of an event must have."""
    signed_up = event.get("signed_up")
    local = datetime.fromtimestamp(event["event_time"] / 1000, ZoneInfo("Europe/Berlin"))
    return {
        "account": event.get("owner", {}).get("account"),
        "campaign": event.get("context", {}).get("campaign", {}).get("name"),
        "host": urlsplit(event.get("referrer", "")).hostname,
        "hour": local.hour,
        "seats": seats_of(event),
        "vip": event.get("vip"),
        "signed_up": date.fromisoformat(signed_up) if signed_up in ("2026-05-01", "1999-12-31") else None,
        "user_id": event["user_id"],
        "page_url": event["page_url"],
    }


def price_of(event: Event, digits: int, bound: int) -> Decimal | None:
    """Returns the price; None if it is no number, has more digits, or is above the bound."""
    price = event.get("cart", {}).get("price")
    if isinstance(price, bool | list):
        return None
    try:
        number = Decimal(str(price))
    except InvalidOperation:
        return None
    is_value = abs(number).scaleb(digits) <= bound and number == round(number, digits)
    return number if is_value else None


def about_quantile(prices: Sequence[Decimal | None], above: int, below: int) -> Decimal | None:
    """Returns the lowest price that `above / below` of the prices do not exceed, as exact as a sketch is."""
    in_order = sorted(price for price in prices if price is not None)
    if not in_order:
        return None
    price = in_order[-(-len(in_order) * above // below) - 1]
    whole = int(price.scaleb(3))
    width = max(2 ** (abs(whole).bit_length() - 7), 1)
    middle = abs(whole) // width * width + width // 2
    return Decimal(middle if whole > 0 else -middle).scaleb(-3)


def columns_of(report: Mapping[str, Any]) -> list[str]:
    """Returns the columns of a report's measures."""
    return [column for measure in report["measures"] for column in COLUMNS.get(measure, [measure])]


def measures_of(events: Sequence[Event]) -> dict[str, Any]:
    """Returns the values that the measures of a window's events, in their order, must have."""
    added = [price for event in events if (price := price_of(event, 2, 10**12)) is not None]
    tenths, thousandths, exact = ([price_of(event, digits, 10**18 - 1) for event in events] for digits in (1, 3, 9))
    notes = [(event["event_time"], event["note"]) for event in events if event.get("note") is not None]
    clicks = sum(event["event_type"] == "click" and event.get("note") is not None for event in events)
    return {
        "page_views": sum(event["event_type"] == "visit" for event in events),
        "clicks": sum(event["event_type"] == "click" for event in events),
        "unique_users": len({event["user_id"] for event in events}),
        "average": float(sum(added) * 100) / (len(added) * 100) if added else None,
        "buyers": clicks,
        "entry": min(notes)[1] if notes else None,
        "exit": max((time, note.lower()) for time, note in notes)[1] if notes else None,
        "highest": max((price for price in tenths if price is not None), default=None),
        "lowest": min((price for price in exact if price is not None), default=None),
        "notes": len({note for _, note in notes if note}),
        "prices_p25": about_quantile(thousandths, 1, 4),
        "prices_p90": about_quantile(thousandths, 9, 10),
        "revenue": sum(added, Decimal(0)),
        "said": tuple(sorted({note for _, note in notes})[:2]),
        "said_cut": int(len({note for _, note in notes}) > 2),
        "way": tuple(note.lower() for _, note in notes)[:3],
        "way_cut": max(len(notes) - 3, 0),
        "weeks": sum((seats_of(event) or 0) // 7 for event in events),
    }


def recount(events: Sequence[Event], reports: Reports, name: str) -> Counter[Row]:
    """Returns the rows that a report must have: start, end, keys, and measures in the order of the settings."""
    report = reports[name]
    window = report.get("window", {"size": "10s"})
    groups = defaultdict[Row, list[tuple[int, int, Event]]](list)
    for number, event in enumerate(events):
        if "where" in report and event["event_type"] != "visit":
            continue
        keys = tuple(keys_of(event)[key] for key in sorted(report["keys"]))
        groups[keys].append((event["event_time"], number, event))
    found = Counter[Row]()
    for keys, group in groups.items():
        for start, end, inside in _windows(group, window):
            measures = measures_of([event for *_, event in sorted(inside, key=lambda each: each[:2])])
            found[start, end, *keys, *(measures[measure] for measure in columns_of(report))] += 1
    return found


def _windows(group: list[tuple[int, int, Event]], window: Mapping[str, Any]) -> Iterator[tuple[int, int, list[Any]]]:
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


def shown(found: Sequence[Mapping[str, Any]], reports: Reports, name: str) -> Counter[Row]:
    """Returns rows of a report in the form of `recount`."""
    report = reports[name]
    columns = [*sorted(report["keys"]), *columns_of(report)]
    return Counter(
        (
            milliseconds(row["window_start"]),
            milliseconds(row["window_end"]),
            *(hashable(row[column]) for column in columns),
        )
        for row in found
    )


def until_now(rows_of: Counter[Row]) -> Counter[Row]:
    """Returns the rows of windows that the last event has ended."""
    return Counter({row: count for row, count in rows_of.items() if row[1] <= BEGIN + 590_000})
