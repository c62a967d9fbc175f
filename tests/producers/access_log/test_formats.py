"""Lines of the formats, as Apache and nginx write them, to requests."""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.producers.access_log.server_writers import escaped_by_apache, escaped_by_nginx
from tests.support.seeds import SEED
from tests.support.time_texts import TIME_TEXTS, random_time_texts
from tidemark.producers.access_log.formats import combined, common, format_of
from tidemark.producers.access_log.json_lines import json_format
from tidemark.producers.access_log.request import Request, time_ms
from tidemark.schemas.time_texts import moment_of

NOON_MS = 1_714_564_800_000
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
COMMON = '203.0.113.7 - - [01/May/2024:12:00:00 +0000] "GET /shoes?size=42 HTTP/1.1" 200 5120'
COMBINED = f'{COMMON} "https://search.example/?q=shoes" "{AGENT}"'
REQUEST = Request("203.0.113.7", NOON_MS, "GET /shoes?size=42 HTTP/1.1", 200, "https://search.example/?q=shoes", AGENT)


def test_a_combined_line_is_a_request() -> None:
    assert combined(COMBINED) == REQUEST


def test_a_common_line_has_neither_referrer_nor_agent() -> None:
    expected = Request("203.0.113.7", NOON_MS, "GET /shoes?size=42 HTTP/1.1", 200)
    assert common(COMMON) == common(COMBINED) == expected


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        (f"{COMBINED} 0.003 0.002", {}),
        (f'{COMBINED} "-" "unix:/run/app.sock"', {}),
        (COMBINED.replace("- -", "- Jane Doe"), {}),
        (COMBINED.replace("- -", "- Jane [admin] Doe ["), {}),
        (COMBINED.replace("- -", "- [01/May/2024:13:00:00 +0000]"), {}),
        (COMBINED.replace("- -", '- ""'), {}),  # Apache's word for a name of no letters
        (COMBINED.replace("203.0.113.7", "2001:db8::7"), {"address": "2001:db8::7"}),
        (COMBINED.replace(AGENT, "-"), {"agent": ""}),
        (COMBINED.replace("GET /shoes?size=42 HTTP/1.1", "-"), {"line": ""}),
        (COMBINED.replace("GET /shoes?size=42 HTTP/1.1", r"\x16\x03\x01"), {"line": "\x16\x03\x01"}),
        (COMBINED.replace(" 5120 ", " - "), {}),
        (COMBINED.replace("12:00:00 +0000", "14:00:00 +0200"), {}),
        (COMBINED.replace("12:00:00 +0000", "08:30:00 -0330"), {}),
        (COMBINED.replace("12:00:00 +0000", "11:59:60 +0000"), {}),
    ],
)
def test_variants_of_the_format_are_read(line: str, changed: dict[str, str]) -> None:
    assert combined(line) == Request(**{name: getattr(REQUEST, name) for name in REQUEST.__slots__} | changed)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "garbage",
        COMMON,
        COMBINED[:-1],
        COMBINED[20:],
        COMBINED.replace("May", "Mai"),
        COMBINED.replace("01/May", "32/May"),
        COMBINED.replace("+0000", "+9900"),
        COMBINED.replace(" 200 ", " OK "),
        COMBINED.replace("2024", "1969"),
        COMBINED.replace("12:00:00", "12:00:61"),
    ],
)
def test_another_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        combined(line)


@given(st.text(), st.text())
def test_text_that_a_server_escaped_is_unescaped(referrer: str, agent: str) -> None:
    for escaped in (escaped_by_nginx, escaped_by_apache):
        found = combined(f'{COMMON} "{escaped(referrer)}" "{escaped(agent)}"')
        assert found.referrer == ("" if referrer == "-" else referrer)
        assert found.agent == ("" if agent == "-" else agent)


def test_octets_that_are_no_utf_8_are_replaced() -> None:
    assert combined(COMBINED.replace(AGENT, r"caf\xE9")).agent == "caf\ufffd"


JSON = {
    "remote_addr": "203.0.113.7",
    "time_iso8601": "2024-05-01T12:00:00+00:00",
    "request": "GET /shoes?size=42 HTTP/1.1",
    "status": "200",
    "http_referer": "https://search.example/?q=shoes",
    "http_user_agent": AGENT,
}


def test_a_line_of_json_is_a_request_by_nginxs_own_names() -> None:
    assert json_format({})(json.dumps(JSON)) == REQUEST
    more = {**JSON, "status": 200, "host": "shop.example", "scheme": "http", "http_sec_purpose": "prefetch", "x": [1]}
    found = json_format({})(json.dumps(more))
    assert (found.status, found.site, found.purpose) == (200, "http://shop.example", "prefetch")


@pytest.mark.parametrize("empty", ["-", "", None])
def test_empty_fields_of_json_mean_that_a_header_was_not_sent(empty: str | None) -> None:
    names = ("http_referer", "http_user_agent", "host", "scheme", "http_sec_purpose")
    found = json_format({})(json.dumps({**JSON, **dict.fromkeys(names, empty)}))
    assert (found.referrer, found.agent, found.site, found.purpose) == ("", "", None, "")
    assert json_format({})(json.dumps({**JSON, "host": "shop.example", "scheme": empty})).site == "https://shop.example"
    assert json_format({})(json.dumps({**JSON, "request": empty})).line == ""


def test_missing_fields_of_json_are_unknown() -> None:
    found = json_format({})(json.dumps({name: value for name, value in JSON.items() if "http" not in name}))
    assert (found.referrer, found.agent) == (None, None)


@pytest.mark.parametrize("time", [NOON_MS / 1000, f"{NOON_MS / 1000:.3f}", "01/May/2024:12:00:00 +0000"])
def test_fields_may_be_named_otherwise_and_times_written_otherwise(time: object) -> None:
    line = json.dumps({**JSON, "ts": time, "ip": "::1"})
    found = json_format({"time": "ts", "address": "ip"})(line)
    assert (found.time_ms, found.address) == (NOON_MS, "::1")


def test_fields_may_be_nested_and_method_and_uri_apart() -> None:
    names = "address=client.ip,time=@timestamp,method=http.method,uri=url.path,status=http.status,agent=headers.UA"
    parse = json_format(dict(pair.split("=") for pair in names.split(",")))
    entry = {"@timestamp": NOON_MS, "client": {"ip": "::1"}, "url.path": "/shoes", "headers": {"UA": [AGENT, "other"]}}
    line = json.dumps({**entry, "http": {"method": "GET", "status": 200}})
    assert parse(line) == Request("::1", NOON_MS, "GET /shoes HTTP/1.1", 200, agent=AGENT)
    assert parse(line.replace(json.dumps({"UA": [AGENT, "other"]}), "{}")).agent == ""
    assert parse(line.replace("headers", "header")).agent is None
    with pytest.raises(ValueError, match=r"^without request \(or http.method and url.path\)$"):
        parse(line.replace("url.path", "path"))


@pytest.mark.parametrize(
    ("scheme", "host", "site"),
    [
        (None, "Shop.EXAMPLE", "https://shop.example"),
        (None, "shop.example:443", "https://shop.example"),
        (None, "shop.example:80", "http://shop.example"),
        ("HTTP", "shop.example:80", "http://shop.example"),
        ("http", "shop.example:443", "http://shop.example:443"),
        ("https", "[::1]:8443", "https://[::1]:8443"),
    ],
)
def test_a_host_has_one_spelling(scheme: str | None, host: str, site: str) -> None:
    assert json_format({})(json.dumps({**JSON, "scheme": scheme, "host": host})).site == site


def test_the_list_of_a_proxy_is_the_address_if_the_other_is_renamed() -> None:
    form = '$remote_addr - $remote_user [$time_local] "$request" $status "$http_x_forwarded_for"'
    line = '10.0.0.1 - - [01/May/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 "203.0.113.7, 10.0.0.2"'
    assert format_of(form, {})(line).address == "10.0.0.1"
    assert format_of(form.replace("remote_addr", "proxy"), {})(line).address == "203.0.113.7"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "not a JSON object"),
        ("{", "."),
        ("[" * 60_000, "."),
        (json.dumps({**JSON, "status": "?"}), "invalid literal"),
        (json.dumps({**JSON, "time_iso8601": "2024-05-01T12:00:00"}), "has no offset"),
        (json.dumps({**JSON, "time_iso8601": "9" * 400}), "."),
        (json.dumps({**JSON, "remote_addr": "-"}), "'' is not an IP address"),
        (json.dumps({**JSON, "remote_addr": None}), "'' is not an IP address"),
        (json.dumps({"status": 200}), "without remote_addr, time_iso8601, request"),
    ],
)
def test_another_line_of_json_is_refused(line: str, message: str) -> None:
    with pytest.raises((ValueError, RecursionError), match=message):
        json_format({})(line)


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    line = json.dumps({**JSON, "http_user_agent": "\ud83d"})
    assert json_format({})(line).agent == "?"


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - as Hypothesis takes it
def test_every_format_of_a_time_gives_the_same_instant(moment: datetime) -> None:
    second = moment.replace(microsecond=0)
    expected = int(second.timestamp()) * 1000
    written = (second.isoformat(), f"{second:%d/%b/%Y:%H:%M:%S %z}", str(expected // 1000), f"{expected // 1000}.000")
    assert {time_ms(text) for text in written} == {expected}


def test_a_time_with_a_zone_is_read_as_an_event_has_it() -> None:
    """Unlike in an event, a time without a zone is refused: a server writes its local time."""
    read = {}
    texts = {**TIME_TEXTS, **random_time_texts(1_000, SEED)}
    for text in texts.keys() - {"2026"}:  # a number
        with suppress(ValueError):
            read[text] = time_ms(text)
    times = {text: time for text, time in texts.items() if time is not None}
    without_zone = {text for text in times if moment_of(text).tzinfo is None}
    assert read == {text: times[text] for text in times.keys() - without_zone}
    with pytest.raises(ValueError, match="such as BST has several meanings"):
        time_ms("2026-05-01 13:00:00 BST")


@pytest.mark.parametrize("number", [NOON_MS, NOON_MS * 1000 + 999, NOON_MS * 1_000_000 + 999_999, f"{NOON_MS}.999"])
def test_a_number_may_count_units_of_a_second(number: object) -> None:
    assert time_ms(str(number)) == NOON_MS
    assert json_format({})(json.dumps({**JSON, "time_iso8601": number})).time_ms == NOON_MS


@pytest.mark.parametrize(
    ("number", "instant_ms"),
    [
        (f"{NOON_MS // 1000}.1239999999999", NOON_MS + 123),
        ("1.7145648001239E9", NOON_MS + 123),
        ("1.7145648e+12", NOON_MS),
        ("17145648e5", NOON_MS),
    ],
)
def test_a_number_of_json_is_not_rounded(number: str, instant_ms: int) -> None:
    line = json.dumps({**JSON, "time_iso8601": 0}).replace(": 0", f": {number}")
    assert json_format({})(line).time_ms == instant_ms


@pytest.mark.parametrize("number", ["1e999999999", "1e99", "1e-999999999", "1e", "e9", "1e9999999999999999999"])
def test_a_number_that_is_no_time_is_refused_at_once(number: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        time_ms(number)


@given(st.integers(0, 2**32 - 1), st.integers(0, 999), st.text("0123456789", max_size=6))
def test_a_fraction_of_a_second_is_cut_in_every_format(seconds: int, milliseconds: int, beyond: str) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    fraction = f"{milliseconds:03}{beyond}"
    expected = seconds * 1000 + milliseconds
    assume(expected)
    assert time_ms(f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction}+00:00") == expected
    assert time_ms(f"{seconds}.{fraction}") == expected


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T23:59:60+00:00",
        "2016-12-31T23:59:60Z",
        "2017-01-01T01:59:60.000+02:00",
        "2016-12-31 23:59:60+00:00",
        "20161231T235960Z",
        "31/Dec/2016:23:59:60 +0000",
    ],
)
def test_a_leap_second_is_the_second_after_the_last_in_every_format(text: str) -> None:
    assert time_ms(text) == 1_483_228_800_000
    with pytest.raises(ValueError, match=r"."):
        time_ms(text.replace("60", "61"))
