"""A site whose events have prices, which reports measure."""

from typing import Any, Final

from tests.verify.site import Event, Site
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.sketches import sketch_of

FIELDS: Final = (
    FieldMeasure("average", Function.AVG, "price", digits=2),
    FieldMeasure("entry", Function.FIRST, "page"),
    FieldMeasure("exit", Function.LAST, "page"),
    FieldMeasure("highest", Function.MAX, "price", digits=2),
    FieldMeasure("lowest", Function.MIN, "price"),
    FieldMeasure("pages", Function.UNIQUE, "page"),
    FieldMeasure("revenue", Function.SUM, "price", digits=2),
)


def price_of(event: Event) -> int | None:
    """Returns the price of an event, in hundredths; None for every third minute."""
    return None if round(event.minute) % 3 == 0 else round(event.minute * 100) - 500


class PricedSite(Site):
    """The warehouse of a site whose reports measure prices and pages."""

    def _row(self, event: Event, offset: int, report: Consumer) -> list[dict[str, Any]]:
        return [{**row, **parts_of(event, report)} for row in super()._row(event, offset, report)]

    def late_rows(self) -> list[dict[str, Any]]:
        """Returns the corrections by which `dead` would be counted."""
        (report,) = self.policy.reports
        return [{**row, **parts_of(_event_of(row), report)} for row in super().late_rows()]


def _event_of(correction: dict[str, Any]) -> Event:
    page = correction.get("page_url")
    return Event((correction["event_time"] - Event(0).time) / 60_000, page=page)


def parts_of(event: Event, report: Consumer) -> dict[str, Any]:
    """Returns the columns of `panes` and `corrections` that measures of fields have of an event."""
    if not isinstance(report, Report):
        return {}
    values = {own.column: event.page if own.function.is_of_text else price_of(event) for own in report.field_measures}
    return report.parts_of({**values, "time": event.time}, sketch_of)
