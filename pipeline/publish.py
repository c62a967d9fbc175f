"""Step 4 of a batch: what is due becomes visible in `page_views`."""

from collections.abc import Mapping

from pipeline.parts import Parts
from pipeline.tables.ledger import EPOCH
from pipeline.time.windows import Due


def publish_due(parts: Parts, due: Due, batch: int, earlier: Mapping[int, int]) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    `earlier` maps each epoch before this one to its last committed batch. Raises Replaced if a newer service took over.
    """
    with parts.timed("publish"):
        parts.publication.publish(due, {**earlier, batch // EPOCH: batch}, batch)
    parts.observer.published(due)
