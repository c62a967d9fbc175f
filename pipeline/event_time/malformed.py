"""The share of malformed records, so that a topic of another kind does not fill `dead_letters` unnoticed.

It is a sliding window over about the last `limit.records` records. A batch enters it as a whole, and pushes out as many
older records, of which the same share is assumed malformed. So two numbers are enough, and no clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tidemark.command_line.counts import counted


@dataclass(frozen=True, slots=True)
class MalformedLimit:
    """The largest allowed share of malformed records, over about the last `records` records."""

    share: float
    records: int


@dataclass(frozen=True, slots=True)
class MalformedShare:
    """Counts of all and of malformed records, among about the last `limit.records` records."""

    limit: MalformedLimit
    records: int = 0
    malformed: float = 0.0

    def after(self, records: int, malformed: int) -> "MalformedShare":
        """Returns the state after a batch of `records` records, of which `malformed` were malformed."""
        older = min(self.records, max(self.limit.records - records, 0))
        older_malformed = self.malformed * older / self.records if older else 0.0
        return MalformedShare(self.limit, older + records, older_malformed + malformed)

    @property
    def share(self) -> float:
        """The share; 0 without records."""
        return self.malformed / self.records if self.records else 0.0

    def exceeded(self) -> bool:
        """Returns whether the share exceeds the limit, once `limit.records` records were seen."""
        return self.records >= self.limit.records and self.share > self.limit.share


def limit_exceeded_message(state: MalformedShare, details: Mapping[str, int]) -> str:
    """Returns why the service stops, and what to do. `details` counts the malformed records of the last batch."""
    most = max(details, key=lambda detail: details[detail], default="")
    often = f" (most often: {most})" if most else ""
    percent = int(state.share * 1000) / 10  # rounded down, because 99.99 % is not all
    return (
        f"{percent:g} % of {counted(state.records, 'recent record')} are malformed{often}, more than "
        f"dead_letters.limit = {state.limit.share:g} allows: is kafka.topic the right topic, are the schemas the right "
        "ones? Nothing of this batch was committed. If the topic has events of other kinds, too, set "
        "schemas.mapping.other_kinds to left_out; if these records are to be dead letters, set dead_letters.limit to 1"
    )
