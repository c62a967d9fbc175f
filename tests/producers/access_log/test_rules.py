"""The rules by which a request is a visit, or the reason why not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.producers.access_log.test_formats import AGENT
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_fields import site_of
from tidemark.producers.access_log.rules import judge
from tidemark.producers.access_log.whole_url import without_site

VISIT = Request("203.0.113.7", 1_714_564_800_000, "GET /shoes HTTP/1.1", 200, "", AGENT)


def judged(**changed: object) -> LineOutcome:
    return judge(replace(VISIT, **changed), 0, ())  # type: ignore[arg-type] # by the fields' names


def of_path(path: str) -> LineOutcome:
    return judged(line=f"GET {path} HTTP/1.1")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/shoes/",
        "/shoes?size=42",
        "/index.html",
        "/item.php?id=1.css",
        "/v1.2",
        "/users/j.doe",
        "/css",
        "/a/%D0%B6",
        "/statuses",
        "/pinged",
        "/a\u00a0b",
        "/a\u2028b\u3000",
        "/a%20b",
        "/%E2%80%8Bx.%2563ss",
    ],
)
def test_a_page_is_a_visit(path: str) -> None:
    assert of_path(path) is LineOutcome.VISIT


@pytest.mark.parametrize("status", [200, 304])
def test_a_page_that_the_browser_had_already_is_a_visit_too(status: int) -> None:
    assert judged(status=status) is LineOutcome.VISIT


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (301, LineOutcome.REDIRECT),
        (302, LineOutcome.REDIRECT),
        (404, LineOutcome.CLIENT_ERROR),
        (499, LineOutcome.CLIENT_ERROR),
        (500, LineOutcome.SERVER_ERROR),
        (503, LineOutcome.SERVER_ERROR),
        (206, LineOutcome.OTHER_STATUS),
        (101, LineOutcome.OTHER_STATUS),
    ],
)
def test_another_status_is_no_visit(status: int, outcome: LineOutcome) -> None:
    assert judged(status=status) is outcome


@pytest.mark.parametrize(
    "path",
    [
        "/style.css",
        "/app.JS?v=3",
        "/a/logo.svg",
        "/favicon.ico",
        "/robots.txt",
        "/feed.xml",
        "/f.woff2",
        "/.css",
        "/a.%63ss",
        "/a.css;v=1",
        *(f"/download/app-1.0.{name}" for name in ("jar", "deb", "rpm", "apk", "MSI", "pkg", "AppImage", "tar.zst")),
    ],
)
def test_an_asset_is_no_visit(path: str) -> None:
    assert of_path(path) in (LineOutcome.ASSET, LineOutcome.PROBE)


@pytest.mark.parametrize(
    "path",
    [
        "/.env",
        "/.git/config",
        "/app/.aws/credentials",
        "/.well-known/security.txt",
        "/wp-login.php",
        "/blog/xmlrpc.php",
        "/wp-admin/setup-config.php",
        "/cgi-bin/luci",
        "/phpMyAdmin/index.php",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        "/actuator/health",
        "/healthz",
        "/server-status?auto",
        "*",
        "example.com:443",
        "/%2eenv",
        "/%2Egit/config",
        "/wp%2dlogin.php",
        "/%77p-admin/",
        "/.env;a=1",
    ],
)
def test_a_probe_is_no_visit_whatever_its_status(path: str) -> None:
    assert of_path(path) is LineOutcome.PROBE
    assert judged(line=f"GET {path} HTTP/1.1", status=404) is LineOutcome.PROBE


@pytest.mark.parametrize(
    "url", ["http://203.0.113.9/", "HTTP://other.example", "https://ann:x@shop.example/", "ftp://a/"]
)
def test_a_whole_url_that_is_not_of_the_site_is_no_visit(url: str) -> None:
    assert of_path(url) is LineOutcome.OTHER_SITE
    assert judged(line=f"GET {url} HTTP/1.1", status=404) is LineOutcome.OTHER_SITE


OWN = "https://shop.example"


@pytest.mark.parametrize(
    ("url", "own", "logged", "target", "site"),
    [
        ("https://shop.example:443/a?b=c", "", None, "/a?b=c", OWN),
        ("https://Shop.example", "", None, "/", OWN),
        ("HTTPS://shop.example?b", "", None, "/?b", OWN),
        ("https://shop.example/a", "https://www.example", None, "/a", OWN),
        ("https://shop.example:8443/a", "", OWN, "/a", OWN),
        ("http://shop.example:80/a", OWN, None, "/a", "http://shop.example"),
        ("http://shop.example/a", "", OWN, "/a", OWN),
        ("http://shop.example/a", "", None, None, None),
        ("http://other.example/a", OWN, OWN, None, OWN),
        ("https://ann:x@shop.example/", OWN, None, None, None),
    ],
)
def test_a_whole_url_of_the_site_is_its_path(
    url: str, own: str, logged: str | None, target: str | None, site: str | None
) -> None:
    line = f"GET {url} HTTP/2.0"
    request = without_site(Request("::1", 1, line, 200, site=logged), own)
    assert request.line == (line if target is None else f"GET {target} HTTP/2.0")
    assert request.site == site


@given(
    st.sampled_from(["http", "https", "HTTP"]),
    st.from_regex(r"[a-z0-9.-]{1,20}(:[0-9]{1,5})?", fullmatch=True),
    st.from_regex(r"([/?][^ \x00-\x20\x7f-\xff]{0,20})?", fullmatch=True),
)
def test_a_request_through_a_load_balancer_has_the_outcome_of_the_request(scheme: str, host: str, path: str) -> None:
    direct, whole = (
        replace(VISIT, line=f"GET {url} HTTP/1.1")
        for url in (path if path.startswith("/") else f"/{path}", f"{scheme}://{host}{path}")
    )
    assert judge(without_site(whole, site_of(scheme, host) or ""), 0, []) is judge(direct, 0, [])


@pytest.mark.parametrize("line", ["", "\x16\x03\x01", "GET /", "quit", "GET /a b HTTP/1.1", "GET /a\tb HTTP/1.1"])
def test_a_line_without_an_http_request_is_no_visit(line: str) -> None:
    assert judged(line=line, status=400) is LineOutcome.NO_REQUEST


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS", "PROPFIND", "VERSION-CONTROL", "M-SEARCH", "X_1"])
def test_another_method_is_no_visit(method: str) -> None:
    assert judged(line=f"{method} /shoes HTTP/2.0") is LineOutcome.OTHER_METHOD


@pytest.mark.parametrize(
    "agent",
    [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        "Mozilla/5.0 (compatible; neverheardofbot/0.1)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36",
        "curl/8.5.0",
        "python-requests/2.32.3",
        "kube-probe/1.30",
        "ELB-HealthChecker/2.0",
        "ApacheBench/2.3",
    ],
)
def test_a_request_of_a_robot_is_no_visit(agent: str) -> None:
    assert judged(agent=agent) is LineOutcome.ROBOT


@pytest.mark.parametrize(
    "agent",
    [
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1",
        "Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Linux; Android 12; CUBOT X50) AppleWebKit/537.36 Chrome/120.0.0.0 Mobile Safari/537.36",
        None,  # a log without agents cannot be judged by agent
    ],
)
def test_a_person_is_a_visit(agent: str | None) -> None:
    assert judged(agent=agent) is LineOutcome.VISIT


def test_a_request_without_an_agent_is_no_visit_if_the_log_has_agents() -> None:
    assert judged(agent="") is LineOutcome.NO_AGENT


@pytest.mark.parametrize("purpose", ["prefetch", "prefetch;prerender"])
def test_a_prefetched_page_is_no_visit(purpose: str) -> None:
    assert judged(purpose=purpose) is LineOutcome.PREFETCH


def test_a_request_for_an_ignored_path_is_no_visit() -> None:
    assert judge(replace(VISIT, line="GET /api/items?x HTTP/1.1"), 0, ["/api/*"]) is LineOutcome.IGNORED
    assert judge(VISIT, 0, ["/api/*"]) is LineOutcome.VISIT
    for pattern in ("/caf\u00e9/*", "/caf%c3%a9/*", "/%63af%C3%A9/*"):
        assert judge(replace(VISIT, line="GET /caf%C3%a9/1 HTTP/1.1"), 0, [pattern]) is LineOutcome.IGNORED


def test_a_request_before_the_start_time_is_no_visit() -> None:
    assert judge(VISIT, VISIT.time_ms + 1, ()) is LineOutcome.BEFORE
    assert judge(VISIT, VISIT.time_ms, ()) is LineOutcome.VISIT
