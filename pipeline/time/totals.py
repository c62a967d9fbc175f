"""Totals of a key over all time, with the number of its sessions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Totals:
    """Sessions end after `gap_ms` without an event; `every_ms` of event time pass from one publication to the next."""

    gap_ms: int
    every_ms: int

    @property
    def pane_ms(self) -> int:
        """Events of a key in a stretch of this length are always one session."""
        return self.gap_ms

    @property
    def shift_ms(self) -> int:
        """Panes begin at multiples of their length."""
        return 0

    def latest_end(self, time: int) -> int:
        """The end of an event's own part of a session."""
        return time + self.gap_ms

    def earliest_after(self, horizon: int) -> int:
        """A session that ends before this can be joined by no event after it."""
        return horizon
