"""The calendar of a time zone, as plainly as it can be read: by looking at its clock every quarter of an hour."""

from datetime import datetime
from functools import cache
from itertools import count
from zoneinfo import ZoneInfo

from tests.transcripts.transcript import milliseconds

QUARTER = milliseconds("15m")
DAY = milliseconds("1d")


@cache
def part_around(time: int, size: int, zone: str) -> tuple[int, int]:
    """Begin and end of the part of the calendar that a time belongs to: whole days, or a part of a day."""
    begin = next(at for at in count(time // QUARTER * QUARTER, -QUARTER) if _begins(at, size, zone))
    return begin, next(at for at in count(begin + QUARTER, QUARTER) if _begins(at, size, zone))


def _begins(at: int, size: int, zone: str) -> bool:
    """The instants at which the clock reaches the next part, or shows the start of a part again."""
    (part, rest), (before, _) = (_part(at - ago, size, zone) for ago in (0, QUARTER))
    return part > before or (size < DAY and rest == 0)


def _part(at: int, size: int, zone: str) -> tuple[int, int]:
    """The number of the part since the first Monday of the calendar, and the time since its start by the clock."""
    local = datetime.fromtimestamp(at / 1000, ZoneInfo(zone))
    return divmod((local.toordinal() - 1) * DAY + (local.hour * 60 + local.minute) * 60_000, size)
