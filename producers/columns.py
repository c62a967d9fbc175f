"""Turns acts and event times into an Arrow batch with the columns of the contract."""

import numpy as np
import pyarrow as pa

from tidemark.producers.arrays import Bools, Ints, Octets
from tidemark.producers.encode import arrow_schema
from tidemark.producers.site import Acts, Site

_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint8).reshape(256, 2)
_TYPES = pa.array(["click", "visit"])
_SECTIONS = ("shoes", "books", "garden", "kitchen", "travel")
_AGENTS = pa.array(
    [
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 (en-GB; 1920x1080)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126",
        None,
    ]
)
_ELEMENTS = pa.array([f"button-{name}" for name in ("buy", "more", "share", "close", "search")])


class ColumnBuilder:
    """Builds columns from the pools of strings of one site; an act holds indexes into the pools only."""

    def __init__(self, site: Site) -> None:
        self.user_ids = [f"user-{user:06d}" for user in range(site.users)]
        self._schema = arrow_schema()
        self._users = pa.array([*self.user_ids, ""])
        self._pages = pa.array([_page_url(page) for page in range(site.pages)])

    def build(self, acts: Acts, times: Ints, nameless: Bools, rng: np.random.Generator) -> pa.RecordBatch:
        """Returns one row per act; `times` are ms since 1970; the user id is empty where `nameless` is true."""
        count = len(times)
        columns = {
            "event_id": _hex(np.frombuffer(rng.bytes(16 * count), np.uint8).reshape(count, 16)),
            "event_type": _TYPES.take(pa.array(acts.visits.astype(np.int8))),
            "user_id": self._users.take(pa.array(np.where(nameless, len(self.user_ids), acts.users))),
            "event_time": pa.array(times).cast(pa.timestamp("ms")),
            "page_url": self._pages.take(pa.array(acts.pages)),
            "session_id": _hex(acts.sessions),
            "referrer": self._pages.take(pa.array(acts.referrers, mask=acts.referrers < 0)),
            "user_agent": _AGENTS.take(pa.array(acts.users % len(_AGENTS))),
            "element_id": _ELEMENTS.take(pa.array(acts.pages % len(_ELEMENTS), mask=acts.visits)),
        }
        return pa.RecordBatch.from_pydict(columns, schema=self._schema)


def _page_url(page: int) -> str:
    return f"https://shop.example/{_SECTIONS[page % len(_SECTIONS)]}/item-{page:05d}"


def _hex(octets: Octets) -> pa.Array:
    """Returns rows of octets as hexadecimal strings, without a Python object per row."""
    count, width = len(octets), 2 * octets.shape[1]
    offsets = np.arange(count + 1, dtype=np.int32) * width
    text = np.ascontiguousarray(_HEX[octets])
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))
