"""Step 4 of a batch: what is due becomes visible in the result tables."""

from pipeline.event_time.window_states import Dues
from pipeline.service.resources import Parts
from pipeline.tables.results.publication import Publication


def publish_due(parts: Parts, publication: Publication, dues: Dues, batch: int) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    Raises Replaced if a newer service took over.
    """
    with parts.timed("publish"):
        publication.publish({name: due for name, due in dues.items() if due}, batch)
    parts.observer.published(dues)
