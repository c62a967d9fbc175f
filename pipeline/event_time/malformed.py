"""How much of what comes is malformed: a topic of another kind must not fill `dead_letters` in silence.

The share is that of about the last records, whole batches at a time: of those before it, a batch pushes out as many as
it brings, in proportion. So two numbers are all that is remembered, and no clock is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MalformedLimit:
    """The largest share of malformed records that is borne, over about so many of the last records."""

    share: float
    records: int


@dataclass(frozen=True, slots=True)
class MalformedShare:
    """Of about the last `limit.records` records how many there were, and how many were malformed."""

    limit: MalformedLimit
    records: int = 0
    malformed: float = 0.0

    def after(self, records: int, malformed: int) -> "MalformedShare":
        """The state after so many more records, of which some were malformed. A batch counts as a whole."""
        kept = min(self.records, max(self.limit.records - records, 0))
        left = self.malformed * kept / self.records if kept else 0.0
        return MalformedShare(self.limit, kept + records, left + malformed)

    @property
    def share(self) -> float:
        """0 where there were no records."""
        return self.malformed / self.records if self.records else 0.0

    def exceeded(self) -> bool:
        """Whether the share is above the limit; never before as many records as the limit names were seen."""
        return self.records >= self.limit.records and self.share > self.limit.share


def limit_exceeded_message(state: MalformedShare, details: Mapping[str, int]) -> str:
    """Why the service stops, and what to do; `details` count the malformed records of the last batch."""
    most = max(details, key=lambda detail: details[detail], default="")
    often = f" (most often: {most})" if most else ""
    percent = int(state.share * 1000) / 10  # rounded down, for 99.99 % is not all
    return (
        f"of the last {state.records:,} records {percent:g} % are malformed{often}, more than "
        f"dead_letters.limit = {state.limit.share:g} allows: is kafka.topic the right topic, are the schemas the right "
        "ones? Nothing of this batch was committed. "
        "If these records are to be dead letters, set dead_letters.limit to 1"
    )
