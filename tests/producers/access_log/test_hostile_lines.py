"""Lines that a stranger has made to cost much: work per line grows as the line does, and no line ends the producer."""

import json
import random
import re
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final

import pytest

from tests.producers.access_log.test_formats import AGENT, COMBINED, JSON
from tests.support.regex_steps import regex_steps
from tests.support.seeds import SEED
from tidemark.producers.access_log.follow import Line
from tidemark.producers.access_log.formats import combined, common, format_of
from tidemark.producers.access_log.json_lines import json_format
from tidemark.producers.access_log.open_file import LONGEST_LINE
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.request_fields import LineParser
from tidemark.producers.access_log.sessions import Sessions
from tidemark.producers.access_log.visits import VisitRules, Visits
from tidemark.producers.collect.contract import AGENT_LENGTH
from tidemark.producers.pseudonym import Pseudonyms

FORMATS: Final = {
    "combined": combined,
    "common": common,
    "json": json_format({}),
    "two lists": format_of(
        '$http_x_forwarded_for $upstream_response_time $remote_user [$time_local] "$request_method $uri" $status', {}
    ),
    "syslog": format_of('$month $day $clock $program $remote_addr "$request" $status [$time_local]', {}),
    "times": format_of('$remote_user [$msec] "$http_x_forwarded_for" "$request" $status', {}),
}
UNITS: Final = (
    *(" ", "[", " [", "] ", '] "', '"', '" "', "\\", '\\"', "\\x41", "a", "a-", "/", "/.", "//wp-admin", ".", ".css"),
    *("%3B", "%3Bjsessionid=", "/%28S%28"),
    *("%41", "%", ";", ";a=", "/(S(", "&", "?", "=", "1", ",", "é", "\t", "\u00a0"),
)
"""Texts whose repetition may make expressions backtrack."""
AGENT_UNITS: Final = (
    *("a", "a-", "1_", "1.", "Java", "Java/", "NewsBlur ", "Yandex", "Go 1.", "CPU iPhone OS 1_1", "Mozilla.1", " "),
    *("Safari.1", "like Gecko", "bo", "centuryb.o.t9", ";", "Mozilla/5.0 (", "y!j-a", "x86_"),
)


def visits(parse: LineParser, parameters: frozenset[str] = frozenset()) -> Visits:
    rules = VisitRules(parse, parameters=parameters, ignored=["/api/*"])
    return Visits("web-1", rules, Pseudonyms(b"s" * 32), Sessions(1_800_000))


def hostile(length: int, units: Sequence[str]) -> Iterator[str]:
    """Makes lines in which one field in turn is a long repetition of a unit."""
    for unit in units:
        text = (unit * length)[:length]
        yield text
        yield COMBINED.replace("203.0.113.7", text)
        yield COMBINED.replace("- - [", f"- {text} [")
        yield COMBINED.replace("01/May/2024:12:00:00 +0000", text)
        yield COMBINED.replace("/shoes?size=42", f"/{text}")
        yield COMBINED.replace("/shoes?size=42", f"/?{text}")
        yield COMBINED.replace("https://search.example/?q=shoes", text)
        yield f"{COMBINED} {text}"


def in_json(length: int, units: Sequence[str]) -> Iterator[str]:
    """Makes lines of JSON in which one field in turn is a long repetition of a unit."""
    for unit in units:
        text = (unit * length)[:length]
        yield text
        yield from (json.dumps({**JSON, name: text}, ensure_ascii=False) for name in JSON)
        yield json.dumps({**JSON, "request": f"GET /{text} HTTP/1.1"}, ensure_ascii=False)


def profiled(act: Callable[[], object]) -> set[tuple[re.Pattern[str], str]]:
    """Returns the expressions that `act` calls, each with the method by which it calls it."""
    called = set()

    def profile(_: FrameType, event: str, function: Any) -> None:
        pattern = getattr(function, "__self__", None)
        if event == "c_call" and isinstance(pattern, re.Pattern):
            called.add((pattern, function.__name__))

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    return called


def opcodes(act: Callable[[], object]) -> int:
    """Returns the number of Python's own instructions that `act` takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(None)
    return count


def judged(parse: LineParser, line: str) -> Counter[LineOutcome]:
    one = visits(parse, frozenset({"a"}))
    one.events_from([Line(line.encode(), 0)])
    return one.counts


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_expression_looks_at_a_character_of_a_line_again_and_again(name: str) -> None:
    parse, length = FORMATS[name], 300
    lines = list((in_json if name == "json" else hostile)(length, UNITS))
    used = profiled(lambda: [judged(parse, line) for line in lines])
    used = {(pattern, method) for pattern, method in used if pattern.pattern.count("|") < 20}  # robots have a test
    assert used
    texts = [(unit * length)[:length] for unit in UNITS]
    for pattern, method in used:
        for text in [*texts, *lines[:: len(used)]]:
            assert regex_steps(pattern, method, text) <= 20 * (len(text) + 10), (pattern.pattern, text)


@pytest.mark.parametrize(
    "units", [random.Random(SEED).sample(UNITS, 3), pytest.param(UNITS, marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.parametrize("name", FORMATS)
def test_twice_the_line_takes_at_most_twice_the_instructions(name: str, units: Sequence[str]) -> None:
    parse, lines = FORMATS[name], in_json if name == "json" else hostile
    for short, long in zip(lines(400, units), lines(800, units), strict=True):
        counts = [opcodes(partial(judged, parse, line)) for line in (short, long)]
        assert counts[1] <= 2 * counts[0] + 100, short


@pytest.mark.slow
@pytest.mark.parametrize("unit", AGENT_UNITS)
def test_whether_an_agent_is_a_robots_is_seen_without_looking_again_and_again(unit: str) -> None:
    agent = ("~" + unit * AGENT_LENGTH)[:AGENT_LENGTH]  # of no other test, so it is in no cache
    line = COMBINED.replace(AGENT, agent)
    used = profiled(lambda: judged(combined, line))
    assert len(used) > 2
    steps = sum(regex_steps(pattern, method, agent) for pattern, method in used)
    assert steps <= 300 * AGENT_LENGTH


@pytest.mark.parametrize(
    ("parse", "line"),
    [
        (combined, COMBINED.replace("01/May/2024:12:00:00", "31/Dec/9999:23:59:60")),
        (combined, COMBINED.replace("01/May/2024:12:00:00 +0000", "31/Dec/9999:23:59:59 -2359")),
        (combined, COMBINED.replace("01/May/2024:12:00:00 +0000", "01/Jan/0001:00:00:00 +2359")),
        (FORMATS["json"], json.dumps({**JSON, "time_iso8601": "9999-12-31T23:59:60+00:00"})),
        (FORMATS["json"], json.dumps({**JSON, "time_iso8601": "0001-01-01T00:00:00+23:59"})),
        (FORMATS["json"], json.dumps({**JSON, "time_iso8601": "9" * 12 + "." + "9" * 60_000})),
        (FORMATS["json"], json.dumps({**JSON, "time_iso8601": float("inf")})),
        (FORMATS["json"], json.dumps({**JSON, "status": float("nan")})),
        (FORMATS["json"], json.dumps({**JSON, "status": []}).replace("[]", "9" * 5_000)),
    ],
)
def test_a_time_or_a_number_that_cannot_be_is_malformed(parse: LineParser, line: str) -> None:
    assert judged(parse, line) == {LineOutcome.MALFORMED: 1}


def mutated(chance: random.Random) -> str:
    """A line of one format or another with something else in it, somewhere."""
    line = chance.choice([COMBINED, json.dumps(JSON)])
    start = chance.randrange(len(line))
    end = start + chance.choice([0, 1, 9, 40])
    units = chance.choices([*UNITS, *AGENT_UNITS, '{"', "\\ud800", "\x00", "\u2028", "9"], k=2)
    return line[:start] + "".join(unit * chance.choice([1, 3, 400]) for unit in units) + line[end:]


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_hostile_lines_are_rejections_or_events_in_bounded_memory(count: int) -> None:
    chance, few, many = random.Random(SEED), count // 200, count // 20
    lines = [mutated(chance).encode() for _ in range(count - 2 * few - many)]
    lines += [chance.randbytes(200) for _ in range(few)]
    lines += [chance.choice([b"[", b'"', b" ", b'{"a":']) * (LONGEST_LINE + 1) for _ in range(few)]
    lines += [
        json.dumps({**JSON, "time_iso8601": f"{number}.{'0' * 60_000}"}).encode() for number in range(1, many + 1)
    ]
    readers = [visits(parse, frozenset({"a"})) for parse in FORMATS.values()]
    tracemalloc.start()
    for text in lines:
        chance.choice(readers).events_from([Line(text, 0)])
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    counts = sum((reader.counts for reader in readers), Counter[LineOutcome]())
    assert counts.total() == count
    assert counts[LineOutcome.TOO_LONG] == few
    assert held < 8 << 20
