"""Step 4 of a batch: what is due becomes visible in `page_views`."""

from collections.abc import Mapping

from pipeline.frames.page_views import page_views
from pipeline.parts import Parts
from pipeline.tables.schemas import PANES
from pipeline.tables.write import publish, read
from pipeline.time.windows import Due


def publish_due(parts: Parts, due: Due, batch: int, earlier: Mapping[int, int]) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    `earlier` maps each epoch before this one to its last committed batch.
    """
    with parts.timed("publish"):
        _publish(parts, due, batch, earlier)
    parts.observer.published(due)


def _publish(parts: Parts, due: Due, batch: int, earlier: Mapping[int, int]) -> None:
    last_batches = [earlier[epoch] for epoch in sorted(earlier)] + [batch]
    rows = page_views(read(parts.spark, PANES, parts.warehouse), due, last_batches, parts.policy.window_ms)
    publish(rows, due, parts.warehouse, batch)
