"""Filters of a question: values of keys of events, such as `page_url`, and of visits, such as `entry_page`. Pure."""

from collections.abc import Mapping
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.period_sources import ENTRY_PAGE, EXIT_PAGE, Sources, Visits

Only = Mapping[str, str]
"""The value that each of some columns must have, as text."""
EVERYWHERE: Final = (c.PAGE_URL, c.USER_ID, ENTRY_PAGE, EXIT_PAGE)
"""Names of filters that every warehouse understands."""
OTHERS: Final = ("period", "compare", "zone")
"""Parameters of a question that are no filters."""


def filter_names(sources: Sources) -> list[str]:
    """Returns the names of the filters that the reports of a warehouse can have."""
    texts = sources.visits.texts if sources.visits else []
    return [name for name in dict.fromkeys([*EVERYWHERE, *sources.further, *texts]) if name not in OTHERS]


def visit_filter(only: Only, visits: Visits) -> tuple[Only, str]:
    """Returns the conditions on columns of visits, and why visits cannot be filtered so; the reason may be empty.

    Visits of a page are those that enter by it: they do not contain all of their pages.
    """
    page, columns = only.get(c.PAGE_URL), {c.USER_ID, *visits.texts}
    if page is not None and only.get(ENTRY_PAGE, page) != page:
        return {}, "a visit has its entry page, and not all of its pages: leave out page_url or entry_page"
    if page is not None and ENTRY_PAGE not in columns:
        return {}, "no report has visits with their entry_page: add [site] with a zone"
    wanted = {name: value for name, value in only.items() if name != c.PAGE_URL}
    missing = [name for name in wanted if name not in columns]
    if missing:
        return {}, f"visits have no {missing[0]}: leave it out, or give the report of visits a measure of this name"
    return wanted | ({} if page is None else {ENTRY_PAGE: page}), ""
