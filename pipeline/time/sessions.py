"""Session windows: as long as a key's events follow one another within a gap, they are one session.

Source: Flink, "Session Windows": each event is a window `[time, time + gap)`, and windows that meet are one.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions that end when `gap_ms` passed without an event."""

    gap_ms: int

    @property
    def pane_ms(self) -> int:
        """Events of a key in a stretch of this length are always one session."""
        return self.gap_ms

    @property
    def shift_ms(self) -> int:
        """Panes begin at multiples of their length."""
        return 0

    def latest_end(self, time: int) -> int:
        """End of the session that an event alone would be."""
        return time + self.gap_ms

    def reached(self, watermark: int) -> int:
        """The latest end that a watermark has reached: a session may end at any time."""
        return watermark

    def earliest_after(self, horizon: int) -> int:
        """The earliest time whose own window ends after `horizon`."""
        return horizon - self.gap_ms + 1
