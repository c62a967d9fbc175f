"""Step 4 of a batch: what is due becomes visible in the result tables."""

from collections.abc import Mapping

from pipeline.parts import Parts
from pipeline.tables.ledger import EPOCH
from pipeline.time.lives import Dues


def publish_due(parts: Parts, dues: Dues, batch: int, earlier: Mapping[int, int]) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    `earlier` maps each epoch before this one to its last committed batch. Raises Replaced if a newer service took over.
    """
    with parts.timed("publish"):
        parts.publication.publish(
            {name: due for name, due in dues.items() if due}, {**earlier, batch // EPOCH: batch}, batch
        )
    parts.observer.published(dues)
