"""Count windows: every so many events of a key, in the order of their batches, partitions and offsets.

Source: Flink, "Count Windows" (`countWindow`): they know no time, so no event is late for them.
"""

from dataclasses import dataclass

from pipeline.time import rules


@dataclass(frozen=True, slots=True)
class Counts:
    """Windows of `size` events each; one that is not full yet is not shown."""

    size: int

    @property
    def pane_ms(self) -> int:
        """There are no panes: every event is kept until its window is full."""
        return 0

    @property
    def shift_ms(self) -> int:
        """Likewise."""
        return 0

    def latest_end(self, time: int) -> int:  # noqa: ARG002 - as other windows are asked
        """No watermark closes a window."""
        return -rules.NO_WATERMARK

    def earliest_after(self, horizon: int) -> int:  # noqa: ARG002 - likewise
        """No event is too late."""
        return rules.NO_WATERMARK
