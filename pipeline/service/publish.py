"""Step 4 of a batch: what is due becomes visible in the result tables."""

from pipeline.event_time.window_states import Firings
from pipeline.service.resources import Resources
from pipeline.tables.results.publication import Publication


def publish_due(resources: Resources, publication: Publication, firings: Firings, batch: int) -> None:
    """Publishes windows from the panes committed up to `batch`; doing it twice is harmless.

    Raises Replaced if a newer service took over.
    """
    with resources.timed("publish"):
        publication.publish({name: firing for name, firing in firings.items() if firing}, batch)
    resources.observer.published(firings)
