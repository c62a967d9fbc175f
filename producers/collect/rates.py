"""Limits the rate of each address by a token bucket, with a bounded number of buckets."""

from collections import OrderedDict
from ipaddress import IPv6Address
from typing import Final

BURST_S: Final = 10
"""An address that was silent may send this many seconds' worth at once: a page that opens sends more than one event."""
ADDRESSES: Final = 100_000
_SUBNET_BITS: Final = 64


class Rates:
    """Admits `per_second` tokens of an address, 0 for any number.

    `take` may leave a debt that later calls pay first, so a request with more events than the bucket holds is not
    refused for ever. Beyond `addresses` addresses, those that were used longest ago are forgotten. Libraries do not
    fit: `limits` stores every address until it expires, `aiolimiter` has no addresses.

    >>> rates = Rates(per_second=1)
    >>> rates.take("192.0.2.1", 12, now_s=0), rates.take("192.0.2.1", 1, now_s=1), rates.take("192.0.2.1", 1, now_s=3)
    (True, False, True)
    """

    def __init__(self, per_second: float, addresses: int = ADDRESSES, burst_s: float = BURST_S) -> None:
        self._per_second, self._addresses = per_second, addresses
        self._most = max(1.0, per_second * burst_s)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, count: int, now_s: float, least: float = 1) -> bool:
        """Takes `count` tokens if the address has at least `least`, else no tokens; returns whether it had."""
        if not self._per_second:
            return True
        who = asker(address)
        tokens, at_s = self._buckets.pop(who, (self._most, now_s))
        tokens = min(self._most, tokens + (now_s - at_s) * self._per_second)
        admitted = tokens >= least
        self._buckets[who] = (tokens - count * admitted, now_s)
        if len(self._buckets) > self._addresses:
            self._buckets.popitem(last=False)
        return admitted


def asker(address: str) -> str:
    """Whom an address stands for: of version 6 a subscriber has 2**64 of them. What is no address is itself."""
    try:
        found = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> _SUBNET_BITS << _SUBNET_BITS))
