"""A warehouse with windows of every kind and state."""

from pathlib import Path

from tests.verify.site import Event, Site


def busy(warehouse: Path) -> Site:
    """Writes windows of every kind that have fired, fired again, closed, and wait, and events too late for some."""
    site = Site(warehouse).open()
    site.batch(Event(1), Event(2, "bob", "/a"), Event(3, click=True), Event(4, "bob", page=None))
    site.batch(Event(11), Event(12, "bob"), Event(13, "cid", "/a"))
    site.batch(Event(8, "bob"), Event(9, "cid", "/a"))
    site.batch(Event(21, "cid"), Event(22))
    site.batch(Event(5, "dan", "/a"))
    site.batch(Event(70, "cid"), Event(23, "bob"))
    site.batch(Event(10, "dan"), Event(69, "bob", "/a", click=True))
    return site.batch(Event(71), Event(72, "dan"))
