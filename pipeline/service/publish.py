"""Step 4 of a batch: what is due becomes visible in the result tables."""

import structlog

from pipeline.event_time.window_states import Firings
from pipeline.service.resources import Resources
from pipeline.tables.results.publication import Publication

_log = structlog.get_logger()


def publish_due(resources: Resources, publication: Publication, firings: Firings, batch: int) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    Raises Replaced if a newer service took over.
    """
    with resources.timed("publish"):
        publication.publish({name: firing for name, firing in firings.items() if firing}, batch)
    resources.observer.published(firings)
    fired, refired = (sum(len(getattr(firing, kind)) for firing in firings.values()) for kind in ("fired", "refired"))
    _log.info("windows published", batch=batch, fired=fired, refired=refired)
