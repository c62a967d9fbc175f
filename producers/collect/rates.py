"""How often an address may ask: a bucket of tokens for each, and no more buckets than memory is meant for."""

from collections import OrderedDict
from ipaddress import IPv6Address
from typing import Final

BURST_S: Final = 10
"""An address that was silent may ask so many seconds' worth at once: a page that opens tells more than one thing."""
ADDRESSES: Final = 100_000
_SUBNET_BITS: Final = 64


class Rates:
    """Admits `per_second` requests of an address, 0 for any number.

    Of more than `addresses` those are forgotten that asked longest ago. Written here: what is kept for this keeps every
    address until it expires (`limits`), or knows nothing of addresses (`aiolimiter`).
    """

    def __init__(self, per_second: float, addresses: int = ADDRESSES) -> None:
        self._per_second, self._addresses = per_second, addresses
        self._most = max(1.0, per_second * BURST_S)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, address: str, now_s: float) -> bool:
        """Whether a request of now is one of those that the address may make; takes its token if so."""
        if not self._per_second:
            return True
        who = asker(address)
        tokens, at_s = self._buckets.pop(who, (self._most, now_s))
        tokens = min(self._most, tokens + (now_s - at_s) * self._per_second)
        admitted = tokens >= 1
        self._buckets[who] = (tokens - admitted, now_s)
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
