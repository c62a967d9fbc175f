"""Limits the rate of each address by a token bucket, with a bounded number of buckets."""

from collections import OrderedDict
from ipaddress import IPv6Address
from typing import Final

BURST_S: Final = 10
"""Size of a full bucket in seconds of its rate: a page that opens sends several events at once."""
ADDRESSES: Final = 100_000
_SUBNET_BITS: Final = 64


class Rates:
    """Admits `per_second` tokens per address, 0 for no limit.

    `take` may leave a debt that later calls pay first, so a request with more events than the bucket's size is not
    rejected forever. Beyond `addresses` addresses, the least recently used address is forgotten. Libraries do not
    fit: `limits` stores every address until it expires, `aiolimiter` has no addresses.

    >>> rates = Rates(per_second=1)
    >>> rates.take("192.0.2.1", 12, now_s=0), rates.take("192.0.2.1", 1, now_s=1), rates.take("192.0.2.1", 1, now_s=3)
    (True, False, True)
    """

    def __init__(self, per_second: float, addresses: int = ADDRESSES, burst_s: float = BURST_S) -> None:
        self._per_second, self._addresses = per_second, addresses
        self._size = max(1.0, per_second * burst_s)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, count: int, now_s: float, least: float = 1) -> bool:
        """Takes `count` tokens if the address has at least `least` tokens, and returns whether it had."""
        if not self._per_second:
            return True
        key = client_key(address)
        tokens, at_s = self._buckets.pop(key, (self._size, now_s))
        tokens = min(self._size, tokens + (now_s - at_s) * self._per_second)
        admitted = tokens >= least
        self._buckets[key] = (tokens - count * admitted, now_s)
        if len(self._buckets) > self._addresses:
            self._buckets.popitem(last=False)
        return admitted


def client_key(address: str) -> str:
    """Returns the key of a client: the IPv4 address, the /64 network of an IPv6 address, or any other text itself."""
    try:
        ip = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip.ipv4_mapped or IPv6Address(int(ip) >> _SUBNET_BITS << _SUBNET_BITS))
