"""Step 4 of a batch: what is due becomes visible in the result tables."""

from pipeline.parts import Parts
from pipeline.tables.publication import Publication
from pipeline.time.lives import Dues


def publish_due(parts: Parts, publication: Publication, dues: Dues, batch: int) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    Raises Replaced if a newer service took over.
    """
    with parts.timed("publish"):
        publication.publish({name: due for name, due in dues.items() if due}, batch)
    parts.observer.published(dues)
