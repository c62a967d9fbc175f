"""Lines become events: the fields that are sent, and those that never are."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.producers.access_log.test_formats import AGENT, COMBINED, JSON, NOON_MS
from tests.producers.recount import decode
from tidemark.producers.access_log.follow import Line
from tidemark.producers.access_log.formats import TEXT, combined, format_of
from tidemark.producers.access_log.json_lines import json_format
from tidemark.producers.access_log.log_position import FilePosition, LogPosition
from tidemark.producers.access_log.options import access_log_options
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.sessions import Session, Sessions
from tidemark.producers.access_log.state import RunState, state_records
from tidemark.producers.access_log.visits import VisitRules, Visits
from tidemark.producers.encode import encode_one
from tidemark.producers.errors import SetUpError
from tidemark.producers.pseudonym import Pseudonyms

SYSLOG = "<190>1 2024-05-01T12:00:00Z web-1 nginx - - -"
SALT = b"0123456789abcdef0123456789abcdef"


def visits(rules: VisitRules, salt: bytes = SALT) -> Visits:
    return Visits("web-1", rules, Pseudonyms(salt), Sessions(1_800_000))


def test_a_visit_is_an_event_of_the_contract() -> None:
    (event,) = visits(VisitRules(combined)).events_from([Line(COMBINED.encode(), 7)])
    assert decode(encode_one(event)) == event
    sent = {name: event[name] for name in ("event_type", "event_time", "page_url", "referrer", "user_agent")}
    assert sent == {
        "event_type": "visit",
        "event_time": NOON_MS,
        "page_url": "/shoes",
        "referrer": "https://search.example/",
        "user_agent": AGENT,
    }


def test_an_event_does_not_contain_the_address() -> None:
    (event,) = visits(VisitRules(combined)).events_from([Line(COMBINED.encode(), 0)])
    assert b"203.0.113.7" not in encode_one(event)


def test_a_user_is_an_address_with_an_agent_under_a_salt() -> None:
    def user(line: str, salt: bytes = SALT) -> object:
        return visits(VisitRules(combined), salt).events_from([Line(line.encode(), 0)])[0]["user_id"]

    assert user(COMBINED) == user(COMBINED.replace("/shoes", "/books"))
    others = [COMBINED.replace("203.0.113.7", "203.0.113.8"), COMBINED.replace("Firefox/128", "Firefox/129")]
    assert len({user(COMBINED), *map(user, others), user(COMBINED, b"another salt that is long enough")}) == 4
    assert user(COMBINED) == "496bd50b09f55d0206460bc975252499"


HOST = "www.example.com:443"


@pytest.mark.parametrize(
    ("form", "prefixes", "users"),
    [
        ("vhost_combined", [f"{HOST} 203.0.113.7", f"{HOST} 203.0.113.8", "www.example.com 203.0.113.8"], 2),
        ("combined", ["203.0.113.7", "203.0.113.7, 10.0.0.1", "203.0.113.7:443", "::ffff:203.0.113.7"], 1),
        ("combined", ["2001:db8::7", "2001:DB8:0::7", "[2001:db8::7]:443", "\ufeff2001:db8::7"], 1),
        ("<$priority>1 $stamp $host_of_log nginx - - - " + TEXT["combined"], [f"{SYSLOG} ::1", f"{SYSLOG} ::2"], 2),
        (
            "$month $day $clock $host_of_log nginx: " + TEXT["combined"],
            [f"{day} 12:00:00 web-1 nginx: ::1" for day in ("May  1", "May 12", "<190>May  1", "<190>May 12")],
            1,
        ),
    ],
)
def test_each_address_is_one_user(form: str, prefixes: list[str], users: int) -> None:
    lines = [COMBINED.replace("203.0.113.7", prefix) for prefix in prefixes]
    events = visits(VisitRules(format_of(form, {}))).events_from([Line(line.encode(), 0) for line in lines])
    assert len(events) == len(lines)
    assert len({event["user_id"] for event in events}) == users


@pytest.mark.parametrize(
    "prefix", ["-", "localhost", f"{HOST} 203.0.113.7", "www.example.com 203.0.113.7", f"{SYSLOG} 203.0.113.7", "unix:"]
)
def test_a_line_without_an_address_in_its_place_has_no_user(prefix: str) -> None:
    one = visits(VisitRules(combined))
    assert one.events_from([Line(COMBINED.replace("203.0.113.7", prefix).encode(), 0)]) == []
    assert one.counts == {LineOutcome.MALFORMED: 1}


def test_the_same_line_has_the_same_id_only_at_the_same_place() -> None:
    same, again, there = visits(VisitRules(combined)).events_from([Line(COMBINED.encode(), at) for at in (0, 0, 300)])
    assert same["event_id"] == again["event_id"] != there["event_id"]


@pytest.mark.parametrize(
    ("rules", "page"),
    [
        (VisitRules(combined), "/shoes"),
        (VisitRules(combined, site="https://shop.example"), "https://shop.example/shoes"),
        (VisitRules(combined, parameters=frozenset({"size", "id"})), "/shoes?size=42"),
        (VisitRules(combined, parameters=frozenset({"id"})), "/shoes"),
    ],
)
def test_a_page_is_its_path_and_no_more_of_its_query_than_was_asked_for(rules: VisitRules, page: str) -> None:
    (event,) = visits(rules).events_from([Line(COMBINED.replace("size=42", "token=x&size=42").encode(), 0)])
    assert event["page_url"] == page


@pytest.mark.parametrize(
    ("spellings", "page"),
    [
        (["/%c3%a9", "/%C3%A9", "/%C3%a9", r"/\xC3\xA9", "/\u00e9"], "/%C3%A9"),
        (["/%7Eann", "/~ann", "/%7e%61nn"], "/~ann"),
        (["/a%2fb", "/a%2Fb"], "/a%2Fb"),
        (["/100%", "/100%"], "/100%"),
        (
            ["/a", "/a;jsessionid=1F2E", "/a;JSESSIONID=1F2E.node-1?x=1", "/a;sid=1;v=2", "/(S(lit3py55t21z5v55))/a"],
            "/a",
        ),
        # Robots and mail programs encode more than they must.
        (
            ["/a%3Bjsessionid=1F2E", "/a%3bJSESSIONID%3d1F2E", "/a;jsessionid%3D1F2E%3Bb", "/%28S%28lit3py55%29%29/a"],
            "/a",
        ),
        (["/a%3Bb=c", "/a%3bb=c"], "/a%3Bb=c"),
        (["/a/b", "/a;jsessionid=1F2E/b", "/a/(A(x)S(y))/b"], "/a/b"),
        (["/a;b/(c)", "/%61;b/(c)"], "/a;b/(c)"),
        (["/", "/(S(lit3py55t21z))", "/(S(lit3py55t21z))/"], "/"),
    ],
)
def test_a_page_has_one_spelling_and_no_session(spellings: list[str], page: str) -> None:
    lines = [COMBINED.replace("/shoes?size=42", spelling) for spelling in spellings]
    events = visits(VisitRules(combined)).events_from([Line(line.encode(), 0) for line in lines])
    assert [event["page_url"] for event in events] == [page] * len(lines)
    referrers = [COMBINED.replace("search.example/?q=shoes", f"x.example{spelling}") for spelling in spellings]
    events = visits(VisitRules(combined)).events_from([Line(line.encode(), 0) for line in referrers])
    assert {event["referrer"] for event in events} == {f"https://x.example{page}"}


@pytest.mark.parametrize("query", ["cat[]=1", "cat%5B%5D=1", "cat%5b%5d=1", "c%61t[]=1", "x[]=2&cat[]=%31"])
@pytest.mark.parametrize("option", ["cat[]", "cat%5B%5D"])
def test_a_parameter_is_kept_however_it_is_spelt(query: str, option: str) -> None:
    (parameters,) = (
        one.type.convert(option, None, None) for one in access_log_options() if "query_parameters" in one.name
    )
    line = COMBINED.replace("size=42", query)
    (event,) = visits(VisitRules(combined, parameters=parameters)).events_from([Line(line.encode(), 0)])
    assert event["page_url"] == "/shoes?cat%5B%5D=1"


@pytest.mark.parametrize("agent", ["-", "", None])
def test_a_line_of_json_without_an_agent_is_no_visit(agent: str | None) -> None:
    one = visits(VisitRules(json_format({})))
    assert one.events_from([Line(json.dumps({**JSON, "http_user_agent": agent}).encode(), 0)]) == []
    assert one.counts == {LineOutcome.NO_AGENT: 1}


def test_empty_fields_of_json_are_neither_a_referrer_nor_a_host() -> None:
    line = json.dumps({**JSON, "http_referer": "-", "host": "-"}).encode()
    (event,) = visits(VisitRules(json_format({}))).events_from([Line(line, 0)])
    assert (event["page_url"], event["referrer"]) == ("/shoes", None)


def test_the_page_url_has_the_host_if_the_log_has_it() -> None:
    line = json.dumps({**JSON, "host": "shop.example"}).encode()
    (event,) = visits(VisitRules(json_format({}))).events_from([Line(line, 0)])
    assert event["page_url"] == "https://shop.example/shoes"


def test_each_line_is_counted_once_by_what_became_of_it() -> None:
    lines = {
        COMBINED.encode(): LineOutcome.VISIT,
        COMBINED.encode() + b"\r": LineOutcome.VISIT,
        COMBINED.replace("/shoes", "/shoes.css").encode(): LineOutcome.ASSET,
        b"": LineOutcome.MALFORMED,
        COMBINED.encode() + b"\xff": LineOutcome.UNDECODABLE,
        b"x" * 65_537: LineOutcome.TOO_LONG,
    }
    one = visits(VisitRules(combined))
    assert len(one.events_from([Line(text, 0) for text in lines])) == 2
    assert one.counts == Counter(lines.values())


def test_lines_nested_too_deeply_are_malformed() -> None:
    one = visits(VisitRules(json_format({})))
    assert one.events_from([Line(b"[" * 60_000, 0)]) == []
    assert one.counts == {LineOutcome.MALFORMED: 1}


def test_the_state_of_a_run_is_restored_from_its_own_records() -> None:
    position = LogPosition(FilePosition.after(b"head", 9), FilePosition.after(b"before", 400))
    counts = Counter({LineOutcome.VISIT: 3, LineOutcome.ASSET: 2})
    new, stays = (Session(5, 5),), (Session(1, 2), Session(3, 6))
    records = [
        *state_records("web-1", None, Counter(), [("gone", (Session(1, 2),)), ("stays", (Session(3, 4),))]),
        *state_records("web-10", None, Counter(), [("other", (Session(1, 2),))]),
        *state_records("web-1", position, counts, [("gone", ()), ("new", new), ("stays", stays)]),
    ]
    kept = RunState.from_records("web-1", records)
    assert (kept.position, kept.counts) == (position, counts)
    assert list(kept.sessions.items()) == [("new", new), ("stays", stays)]
    assert RunState.from_records("web-2", records) == RunState()


def test_the_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="it has version 2, but this program reads version 1"):
        RunState.from_records("web-1", [(b"web-1", b'{"version": 2}')])


@pytest.mark.parametrize("salt", ["", "short", "  0123456789abcdef0123456789abcde\n"])
def test_a_salt_that_is_too_short_is_refused(tmp_path: Path, salt: str) -> None:
    file = tmp_path / "salt"
    file.write_text(salt)
    words = rf"the salt in {file} has \d+ characters?, fewer than 32; create a salt, for example by `openssl"
    with pytest.raises(SetUpError, match=words):
        Pseudonyms.from_file(file)


def test_a_salt_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"the salt cannot be read from .*: No such file or directory; create a salt"):
        Pseudonyms.from_file(tmp_path / "salt")


def test_the_end_of_the_salts_line_is_no_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "salt"
    file.write_bytes(SALT + b"\n")
    assert Pseudonyms.from_file(file).pseudonym_of("a", "b") == Pseudonyms(SALT).pseudonym_of("a", "b")
    assert Pseudonyms(SALT).pseudonym_of("ab", "") != Pseudonyms(SALT).pseudonym_of("a", "b")
