"""Well-formed events, from which broken ones are made."""

from tidemark.producers.encode import encode_one

NOW = 1_790_820_000_000
USERS = ("ann", "böb", "名前", "\U0001f600", "a" * 70, "nul\0")
"""Texts of one to four bytes a letter, a text whose length takes two bytes, and a text with a NUL."""
_ALL_FIELDS = {
    "session_id": "s-1",
    "referrer": "https://a.example/",
    "user_agent": "Mozilla",
    "element_id": "buy",
    "event_name": "purchase",
    "properties": {"price": "9.90", "": "nameless"},
}


def seeds() -> list[bytes]:
    """Short ones, in which a mutation meets what is needed, and some with every field."""
    return [
        encode_one({**_needed(user, NOW + number, act), "event_id": mark, **more})
        for number, user in enumerate(USERS)
        for act in ("visit", "click")
        for mark, more in (("e", {}), ("e", {}), ("2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d", _ALL_FIELDS))
    ]


def _needed(user: str, time: int, act: str) -> dict[str, object]:
    return {"event_type": act, "user_id": user, "event_time": time, "page_url": f"/{user}"}
