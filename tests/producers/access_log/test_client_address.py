"""A user has an IP address in one spelling; anything else is no user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.producers.access_log.client_address import client_address


@pytest.mark.parametrize(
    ("logged", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:50412", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::FFFF:cb00:7107", "203.0.113.7"),
        ("[::ffff:203.0.113.7]:443", "203.0.113.7"),
        ("2001:DB8:0:0::7", "2001:db8::7"),
        ("2001:0db8::0007", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("fe80::1%eth0", "fe80::1"),
        ("203.0.113.7, 10.0.0.1", "203.0.113.7"),
        ("203.0.113.7,10.0.0.1,10.0.0.2", "203.0.113.7"),
        ("unknown, 203.0.113.7", "203.0.113.7"),
        ("-, 203.0.113.7:80", "203.0.113.7"),
    ],
)
def test_an_address_has_one_spelling(logged: str, address: str) -> None:
    assert client_address(logged) == address


@pytest.mark.parametrize(
    "logged",
    [
        *("", "-", "unknown", "localhost", "www.example.com", "www.example.com:443", "unix:", "<190>1", "1", "0x7f.1"),
        *(
            "203.0.113",
            "203.0.113.256",
            "203.0.113.07",
            "203.0.113.7:",
            "203.0.113.7/24",
            "::ffff:",
            "[::1",
            "2\u0661.0.0.1",
        ),
        "x," * 100_000 + "203.0.113.7",
    ],
)
def test_anything_else_is_no_address(logged: str) -> None:
    with pytest.raises(ValueError, match="is not an IP address"):
        client_address(logged)


@given(st.ip_addresses(), st.integers(0, 65_535))
def test_a_port_does_not_change_an_address(address: object, port: int) -> None:
    text = str(address)
    with_port = f"[{text}]:{port}" if ":" in text else f"{text}:{port}"
    assert client_address(with_port) == client_address(text)
