"""The IP address of a client, in its canonical spelling."""

import re
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

_WITH_PORT: Final = re.compile(r"\[([^\]]++)\](?::\d++)?|([\d.]++):\d++")
_LONGEST: Final = 256
_ENTRIES: Final = 8
"""Only this many characters and entries of a list are read, because clients choose its start."""


def client_address(logged: str) -> str:
    """Returns the first IP address of a logged address or of a list as in X-Forwarded-For.

    Ports, zones and the IPv6 form of an IPv4 address are removed. Raises ValueError if no entry is an IP address.

    >>> client_address("unknown, [2001:DB8::7]:443, 10.0.0.1"), client_address("::ffff:203.0.113.7")
    ('2001:db8::7', '203.0.113.7')
    """
    return _first_address(logged[:_LONGEST])


@lru_cache(maxsize=4096)
def _first_address(addresses: str) -> str:
    for entry in addresses.split(",")[:_ENTRIES]:
        try:
            return _normalised(entry.strip())
        except ValueError:
            continue
    raise ValueError(f"{addresses!r} is not an IP address")


def _normalised(text: str) -> str:
    match = _WITH_PORT.fullmatch(text)
    address = ip_address((match[1] or match[2] if match else text).partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
