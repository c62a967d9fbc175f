"""Times as text, and the milliseconds since 1970 that each must become; None for a text that is not a time."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

NOON: Final = 1_777_636_800_000
"""2026-05-01T12:00:00Z."""
_OF_NOON: Final = (
    *("2026-05-01T12:00:00Z", "2026-05-01t12:00:00z", "2026-05-01 12:00:00", " 2026-05-01 12:00:00 UTC "),
    *("20260501T120000Z", "2026-05-01T14:00:00+02", "2026-05-01 14:00:00+0200", "2026-05-01T06:30:00.000-05:30"),
    *("2026-05-01 14:00:00 Europe/Berlin", "2026-05-01 09:00:00 America/Argentina/Buenos_Aires"),
    *("2026-05-01 12:00:00 GMT", "2026-05-01T14:00:00 GMT+2", "2026-05-01T14:00:00UTC+02:00"),
    # Java's Instant, OffsetDateTime, ZonedDateTime, LocalDateTime and Timestamp.
    *("2026-05-01T12:00Z", "2026-05-01T14:00+02:00", "2026-05-01T14:00+02:00[Europe/Berlin]", "2026-05-01T12:00Z[UTC]"),
    *("2026-05-01T14:00:00+02:00[CET]", "2026-05-01T14:00[Europe/Berlin]", "2026-05-01T12:00", "2026-05-01 12:00:00.0"),
    # Go's Time.String.
    *("2026-05-01 12:00:00 +0000 UTC", "2026-05-01 14:00:00 +0200 CEST", "2026-05-01 15:00:00 +0300 +03"),
    *("2026-05-01 14:00:00.000000001 +0200 CEST m=+0.000012", "2026-05-01 13:00:00 +0100 BST"),
)
_NO_TIMES: Final = (
    *("2026-05-01 13:00:00 BST", "2026-05-01 14:00:00 CEST", "2026-05-01 08:00:00 AST", "2026-05-01 01:00:00 SST"),
    *(
        "2026-05-01T13:00:00A",
        "2026-05-01 07:00:00 EST5EDT",
        "2026-05-01 12:00:00 Foo/Bar",
        "2026-05-01T12:00:00+19:00",
    ),
    *("soon", "", "yesterday", "00:00:01", "2026", "2026-13-01", "2026-02-30T12:00:00Z", "2026-05-01T25:00:00Z"),
    *("27/11/2026 10:00", "2026-05-01T12:00:00Z and more", "2026-05-01 12:00:00 PM", "Fri May 01 12:00:00 UTC 2026"),
    *("2026-05-01T", "2026-05-01T12", "2026-05-01Z", "2026-05-01 12:00:00 America/Argentina"),
)
TIME_TEXTS: Final[Mapping[str, int | None]] = {
    **dict.fromkeys(_OF_NOON, NOON),
    **dict.fromkeys(_NO_TIMES),
    "2026-05-01": NOON - 43_200_000,
    "2026-05-01T9:05Z": NOON - 10_500_000,
    "2026-05-01T12:00:00.1239999Z": NOON + 123,
    "2026-05-01T12:00:00,5Z": NOON + 500,
    # A clock shows these twice and never: the first of both, and as if it had not been put forward.
    "2026-10-25T02:30:00 Europe/Berlin": 1_792_888_200_000,
    "2026-03-29T02:30:00 Europe/Berlin": 1_774_747_800_000,
}
_ZONES: Final = ("Europe/Berlin", "Asia/Kathmandu", "America/New_York", "Australia/Lord_Howe", "Etc/GMT+5")


def random_time_texts(count: int, seed: int) -> dict[str, int]:
    """Returns random times in the formats of Java, Go, JavaScript, Python and databases, in random zones."""
    choice = random.Random(seed)
    texts = {}
    for _ in range(count):
        moment = datetime(1971, 1, 1, tzinfo=UTC) + timedelta(milliseconds=choice.randrange(2 * 10**12))
        zone = ZoneInfo(name := choice.choice(_ZONES))
        local, minutes = moment.astimezone(zone), choice.randrange(-14 * 60, 14 * 60 + 1)
        shifted = moment.astimezone(timezone(timedelta(minutes=minutes)))
        text = choice.choice(
            [
                shifted.isoformat(choice.choice("T ")),
                f"{shifted:%Y-%m-%d %H:%M:%S.%f %z}",
                f"{shifted:%Y%m%dT%H%M%S.%f%z}",
                f"{shifted:%Y-%m-%d %H:%M:%S.%f %z} ABC m=+0.1",
                f"{moment:%Y-%m-%dT%H:%M:%S.%f}" + choice.choice(["", "Z", " UTC", "000Z", "Z[UTC]", " +0000 UTC"]),
                *([f"{local:%Y-%m-%dT%H:%M:%S.%f} {name}"] if not local.fold else []),
            ]
        )
        texts[text] = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return texts
