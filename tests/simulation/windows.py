"""The windows of an event in the reference model, which shares no code with the project."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from tests.simulation.rules import Shape

Window = tuple[int, int]
"""Start and end in milliseconds."""


def windows_of(shape: Shape, time: int) -> Iterator[Window]:
    """The windows of an event; of a session the part that the event alone is."""
    if shape.kind == "sessions":
        yield time, time + shape.size
    elif shape.kind == "grid":
        last = time - time % shape.slide_ms
        for start in range(last, time - shape.size, -shape.slide_ms):
            yield start, start + shape.size
    elif shape.kind == "cumulate":
        start = time - time % shape.size
        ends = range(start + shape.slide_ms, start + shape.size + 1, shape.slide_ms)
        yield from ((start, end) for end in ends if end > time)
    elif shape.kind == "calendar":
        local = datetime.fromtimestamp(time / 1000, ZoneInfo(shape.zone))
        ahead = round((local.utcoffset() or timedelta()) / timedelta(milliseconds=1))
        start = time - (time + ahead) % shape.size
        yield start, start + shape.size
