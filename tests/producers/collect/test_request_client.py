"""The user agent of a request."""

import pytest
from starlette.requests import Request

from tidemark.producers.access_log.formats import combined
from tidemark.producers.collect.contract import AGENT_LENGTH
from tidemark.producers.collect.request_client import agent_of


@pytest.mark.parametrize(
    ("octets", "agent"),
    [
        (b"Firefox", "Firefox"),
        ("Näver/1 日本".encode(), "Näver/1 日本"),
        ("Näver".encode("latin-1"), "N\ufffdver"),
        ("ä".encode() * 1_000, "ä" * AGENT_LENGTH),
        (b" ", ""),
    ],
)
def test_an_agent_is_the_text_that_a_log_has(octets: bytes, agent: str) -> None:
    assert agent_of(Request({"type": "http", "headers": [(b"user-agent", octets)]})) == agent
    escaped = "".join(f"\\x{octet:02X}" for octet in octets)
    line = f'192.0.2.1 - - [01/May/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "{escaped}"'
    assert (combined(line).agent or "").strip()[:AGENT_LENGTH] == agent


def test_a_request_without_the_header_has_no_agent() -> None:
    assert agent_of(Request({"type": "http", "headers": []})) == ""
