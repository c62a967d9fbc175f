"""Lines of the formats, as Apache and nginx write them, to requests."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from producers.access_log.formats import combined, common, json_format
from producers.access_log.request import Request, time_ms

NOON_MS = 1_714_564_800_000
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
COMMON = '203.0.113.7 - - [01/May/2024:12:00:00 +0000] "GET /shoes?size=42 HTTP/1.1" 200 5120'
COMBINED = f'{COMMON} "https://search.example/?q=shoes" "{AGENT}"'
REQUEST = Request("203.0.113.7", NOON_MS, "GET /shoes?size=42 HTTP/1.1", 200, "https://search.example/?q=shoes", AGENT)


def escaped_by_nginx(text: str) -> str:
    """The text as nginx writes it: what is not printable ASCII, and quotes and backslashes, as octets."""
    return "".join(
        chr(octet) if 32 <= octet < 127 and octet not in b'"\\' else f"\\x{octet:02X}" for octet in text.encode()
    )


def escaped_by_apache(text: str) -> str:
    """The text as Apache writes it (`ap_escape_logitem`)."""
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\v": "\\v", '"': '\\"', "\\": "\\\\"}
    return "".join(named.get(one) or "".join(octet_of_apache(octet) for octet in one.encode()) for one in text)


def octet_of_apache(octet: int) -> str:
    return chr(octet) if 32 <= octet < 127 else f"\\x{octet:02x}"


def test_a_combined_line_is_a_request() -> None:
    assert combined(COMBINED) == REQUEST


def test_a_common_line_tells_neither_referrer_nor_agent() -> None:
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
def test_what_servers_write_otherwise_is_read(line: str, changed: dict[str, str]) -> None:
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
def test_what_a_server_escapes_is_told_as_it_was(referrer: str, agent: str) -> None:
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
def test_what_json_has_no_value_for_was_not_sent(empty: str | None) -> None:
    names = ("http_referer", "http_user_agent", "host", "scheme", "http_sec_purpose")
    found = json_format({})(json.dumps({**JSON, **dict.fromkeys(names, empty)}))
    assert (found.referrer, found.agent, found.site, found.purpose) == ("", "", None, "")
    assert json_format({})(json.dumps({**JSON, "host": "shop.example", "scheme": empty})).site == "https://shop.example"
    assert json_format({})(json.dumps({**JSON, "request": empty})).line == ""


def test_what_json_does_not_have_is_not_known() -> None:
    found = json_format({})(json.dumps({name: value for name, value in JSON.items() if "http" not in name}))
    assert (found.referrer, found.agent) == (None, None)


@pytest.mark.parametrize("time", [NOON_MS / 1000, f"{NOON_MS / 1000:.3f}", "01/May/2024:12:00:00 +0000"])
def test_fields_may_be_named_otherwise_and_times_written_otherwise(time: object) -> None:
    line = json.dumps({**JSON, "ts": time, "ip": "::1"})
    found = json_format({"time": "ts", "address": "ip"})(line)
    assert (found.time_ms, found.address) == (NOON_MS, "::1")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[1]", "not a JSON object"),
        ("{", "."),
        ("[" * 60_000, "."),
        (json.dumps({**JSON, "status": "?"}), "invalid literal"),
        (json.dumps({**JSON, "time_iso8601": "2024-05-01T12:00:00"}), "has no offset"),
        (json.dumps({**JSON, "time_iso8601": "9" * 400}), "."),
        (json.dumps({**JSON, "remote_addr": "-"}), "without remote_addr"),
        (json.dumps({**JSON, "remote_addr": None}), "without remote_addr"),
        (json.dumps({"status": 200}), "without remote_addr, time_iso8601, request"),
    ],
)
def test_another_line_of_json_is_refused(line: str, told: str) -> None:
    with pytest.raises((ValueError, RecursionError), match=told):
        json_format({})(line)


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    line = json.dumps({**JSON, "http_user_agent": "\ud83d"})
    assert json_format({})(line).agent == "?"


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - as Hypothesis takes it
def test_every_way_to_write_a_time_tells_the_same(moment: datetime) -> None:
    second = moment.replace(microsecond=0)
    expected = int(second.timestamp()) * 1000
    written = (second.isoformat(), f"{second:%d/%b/%Y:%H:%M:%S %z}", str(expected // 1000), f"{expected // 1000}.000")
    assert {time_ms(text) for text in written} == {expected}


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
