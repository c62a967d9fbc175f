"""Reading is the inverse of writing: each format of each server, with any text that a client can send."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.producers.access_log.server_writers import (
    Served,
    apache_line,
    caddy_line,
    escaped_for_json,
    nginx_line,
)
from tidemark.producers.access_log.formats import TEXT, format_of
from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_fields import LineParser

COMBINED = '"$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
NGINX = [
    f"$remote_addr - $remote_user [$time_local] {COMBINED}",
    f'$remote_addr - $remote_user [$time_local] {COMBINED} "$http_x_forwarded_for"',
    f"$http_x_forwarded_for - $remote_user [$time_local] {COMBINED}",
    f'"$http_x_forwarded_for" - $remote_user [$time_local] {COMBINED}',
    f"$host:$server_port $remote_addr - $remote_user [$time_local] {COMBINED} rt=$request_time",
    f"<190>1 $time_iso8601 web-1 nginx - - - $remote_addr - $remote_user [$time_local] {COMBINED}",
    "$remote_addr\t$remote_user\t$msec\t$request\t$status\t$http_referer\t$http_user_agent\t$host",
    '[$time_iso8601] $status $upstream_response_time $remote_addr "$request" "$http_user_agent" "$http_referer"',
    "$msec $remote_addr $request_method $scheme $host $request_uri $status",
    '$remote_addr [$time_iso8601] "$request_method $scheme://$host$request_uri $server_protocol" $status',
    '$time_iso8601 ${remote_addr} "$request_method $uri$is_args$args $server_protocol" $status "$http_user_agent"',
]
LOGGED = r"\"%{Referer}i\" \"%{User-Agent}i\""
APACHE = [
    rf"%h %l %u %t \"%r\" %>s %b {LOGGED}",
    r"%h %l %u %t \"%r\" %>s %b",
    rf"%v:%p %h %l %u %t \"%r\" %>s %O {LOGGED}",
    rf"%v %h %l %u %t \"%r\" %>s %O {LOGGED}",
    rf"%{{X-Forwarded-For}}i %l %u %t \"%r\" %>s %O {LOGGED} %D",
    rf"%a %l %u [%{{%Y-%m-%dT%H:%M:%S%z}}t] \"%m %U%q %H\" %>s {LOGGED}",
    rf"%{{sec}}t %a \"%r\" %s {LOGGED}",
    rf"%a %{{msec}}t %{{%d/%b/%Y:%H:%M:%S %z}}t \"%r\" %s {LOGGED}",
    rf"%a %^FB %{{usec}}t \"%r\" %s {LOGGED}",
]
JSON = (
    '{"remote_addr":"$remote_addr","time_iso8601":"$time_iso8601","request":"$request","status":$status,'
    '"http_referer":"$http_referer","http_user_agent":"$http_user_agent","user":"$remote_user"}'
)
JSON_APART = (
    '{"remote_addr":"$http_x_forwarded_for","time_iso8601":"$msec","request_method":"$request_method",'
    '"request_uri":"$request_uri","status":"$status","http_user_agent":"$http_user_agent"}'
)

TEXTS = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [" ", '"', "\\", "] ", '] "', " [", "[01/May/2024:13:00:00 +0000]", "x4", "-", "\\x41", "é", ","]
        )
    ).map("".join),
)
HEADER = st.one_of(st.none(), TEXTS)
WORD = st.text(st.characters(codec="utf-8", exclude_characters=" ?", min_codepoint=33), min_size=1)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str).filter(lambda text: "::ffff:" not in text)
TIMES = st.builds(
    lambda ms, minutes: datetime.fromtimestamp(ms / 1000, UTC).astimezone(timezone(timedelta(minutes=minutes))),
    st.integers(10**11, 4 * 10**12),
    st.integers(-14 * 60, 14 * 60),
)
SERVED = st.builds(
    Served,
    address=ADDRESSES,
    at=TIMES,
    method=st.sampled_from(["GET", "POST", "VERSION-CONTROL"]),
    uri=st.builds("/{}{}".format, WORD, st.one_of(st.just(""), WORD.map("?{}".format))),
    status=st.integers(100, 599),
    user=HEADER,
    referrer=HEADER,
    agent=HEADER,
    forwarded=st.lists(ADDRESSES, min_size=1, max_size=3).map(", ".join),
    host=st.sampled_from(["shop.example", "www.example.com"]),
)


def read(form: str, line: str) -> Request:
    return _parser(form)(line.encode().decode())


@lru_cache
def _parser(form: str) -> LineParser:
    return format_of(form, {})


def as_read(served: Served, form: str) -> Request:
    """The request with what a format records of it; `-` and no text are the same in every log."""
    known = form.lower()
    unit_ms = 1 if any(unit in form for unit in ("msec", "usec")) else 1000
    since_1970 = served.at - datetime(1970, 1, 1, tzinfo=UTC)
    host = f"https://{served.host}" if any(name in known for name in ("$host", "%v")) else None
    has_address = re.search(r"\$\{?remote_addr|%[ah]", form)
    return Request(
        address=served.address if has_address else served.forwarded.partition(",")[0],
        time_ms=since_1970 // timedelta(milliseconds=unit_ms) * unit_ms,
        line=served.line,
        status=served.status,
        referrer=_logged(served.referrer) if "referer" in known else None,
        agent=_logged(served.agent) if "agent" in known else None,
        site=host,
    )


def _logged(text: str | None) -> str:
    return "" if text in (None, "-") else str(text)


@pytest.mark.parametrize("form", NGINX)
@given(SERVED)
def test_a_log_format_of_nginx(form: str, served: Served) -> None:
    assert read(form, nginx_line(form, served)) == as_read(served, form)


@pytest.mark.parametrize("form", APACHE)
@given(SERVED)
def test_a_log_format_of_apache(form: str, served: Served) -> None:
    assert read(form, apache_line(form, served)) == as_read(served, form)


@given(SERVED)
def test_a_named_format(served: Served) -> None:
    for name, form in (("combined", APACHE[0]), ("common", APACHE[1]), ("vhost_combined", APACHE[2])):
        expected = as_read(served, form)
        assert read(name, apache_line(form, served)) == expected
        assert read(name, nginx_line(TEXT[name].replace("$http_host", "$host").replace("$identity", "-"), served)) == (
            expected
        )
    assert read("vhost_combined", apache_line(APACHE[3], served)) == as_read(served, APACHE[3])


@given(SERVED)
def test_json_of_nginx(served: Served) -> None:
    assert read("json", nginx_line(JSON, served, escaped_for_json)) == as_read(served, JSON)
    apart = as_read(served, JSON_APART)
    assert read("json", nginx_line(JSON_APART, served, escaped_for_json)) == apart


@given(SERVED)
def test_json_of_caddy(served: Served) -> None:
    assert read("caddy", caddy_line(served)) == replace(
        as_read(served, "$remote_addr referer agent $host $msec"), purpose=""
    )
