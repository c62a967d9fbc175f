"""Time zones by their names."""

from zoneinfo import ZoneInfo, available_timezones


def zone_of(name: str) -> ZoneInfo:
    """The zone of a name such as `Europe/Berlin`. Raises ValueError where there is none, with how to write it."""
    if name not in available_timezones():
        raise ValueError(f"there is no time zone {name!r}: write one such as Europe/Berlin")
    return ZoneInfo(name)
