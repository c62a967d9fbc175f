"""Times of an answer as the first page writes them. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.pages.window_names import clock_text, date_text
from tidemark.pipeline.reading.periods.local_days import local_date
from tidemark.pipeline.reading.periods.period import Period

_ISO_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}(:\d{2})?)")


@dataclass(frozen=True, slots=True)
class Times:
    """Writes times of an answer for readers."""

    period: Period

    def text(self, instant: str) -> str:
        """Returns an ISO time: the time of day if the period is its day, else with the date."""
        time, zone = ms_of(datetime.fromisoformat(instant)), self.period.zone
        clock = clock_text(time, zone, "minutes")
        is_its_day = len(self.period.days) == 1 and local_date(time, zone) == self.period.first
        return clock if is_its_day else f"{date_text(time, zone)} {clock}"

    def sentence(self, reason: str) -> str:
        """Returns a reason with its ISO times as readers write them."""
        return _ISO_TIME.sub(lambda match: self.text(match.group()), reason)
