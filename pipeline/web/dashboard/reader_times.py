"""Times of an answer as the first page writes them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.periods.local_days import local_date
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.window_names import clock_text, date_text

STATES: Final = {"open": "still going", "fired": "complete", "closed": "final", "corrected": "final"}
"""States of windows in the words of readers."""
_ISO_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}(:\d{2})?)")


@dataclass(frozen=True, slots=True)
class Times:
    """Writes times of an answer for readers."""

    period: Period

    def text(self, instant: str) -> str:
        """Returns an ISO time: the time of day if the period is its day, else with the date."""
        return self.at(_ms(instant))

    def at(self, time: int) -> str:
        """Returns a time (ms) like `text`."""
        zone = self.period.zone
        clock = clock_text(time, zone, "minutes")
        is_its_day = len(self.period.days) == 1 and local_date(time, zone) == self.period.first
        return clock if is_its_day else f"{date_text(time, zone)} {clock}"

    def state(self, state: str, covered: tuple[int, int], whole: tuple[int, int]) -> str:
        """Returns a state for readers, with the time that is `covered` if it is not the `whole` span (ms)."""
        if state not in ("so far", "partial"):
            return state
        first, until = (self.at(time) for time in covered)
        if covered[0] <= whole[0]:
            return f"{state}, until {until}"
        return f"{state}, from {first}" if covered[1] >= whole[1] else f"{state}, {first} to {until}"

    def state_of(self, member: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
        """Returns the state of a member of an answer for readers; `whole` is the period, or a part of its series."""
        if not member["covered_until"]:
            return str(member["state"])
        covered = (_ms(member["covered_from"]), _ms(member["covered_until"]))
        return self.state(member["state"], covered, (_ms(whole["start"]), _ms(whole["end"])))

    def sentence(self, reason: str) -> str:
        """Returns a reason with its ISO times as readers write them."""
        return _ISO_TIME.sub(lambda match: self.text(match.group()), reason)


def _ms(instant: str) -> int:
    return ms_of(datetime.fromisoformat(instant))
