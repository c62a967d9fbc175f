"""A site whose events have prices, which reports measure."""

from typing import Any, Final

from tests.verify.site import Event, Site
from tidemark.pipeline.ddsketch import bucket_of
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
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
    FieldMeasure("seen", Function.COLLECT_SET, "page", most=3),
    FieldMeasure("spread", Function.QUANTILES, "price", digits=2, quantiles=(5_000, 9_990)),
    FieldMeasure("way", Function.PATH, "page", most=3),
)


def price_of(event: Event) -> int | None:
    """Returns the price of an event, in hundredths; None for every third minute."""
    return None if round(event.minute) % 3 == 0 else round(event.minute * 100) - 500


class PricedSite(Site):
    """The warehouse of a site whose reports measure prices and pages."""

    def folded(self, event: Event, measure: FieldMeasure) -> str | int | None:
        """Returns the page or the price of an event, or the bucket of the price."""
        if measure.function.is_of_text:
            return event.page
        price = price_of(event)
        return str(bucket_of(price)) if measure.function is Function.QUANTILES and price is not None else price

    def late_rows(self) -> list[dict[str, Any]]:
        """Returns the corrections by which `dead` would be counted."""
        (report,) = self.policy.reports
        return [{**row, **self._parts_of(row, report)} for row in super().late_rows()]

    def _parts_of(self, row: dict[str, Any], report: Report) -> dict[str, Any]:
        event = _event_of(row)
        values = {own.column: self.folded(event, own) for own in report.field_measures}
        return report.parts_of({**row, **values, "time": event.time}, sketch_of)


def _event_of(correction: dict[str, Any]) -> Event:
    page = correction.get("page_url")
    return Event((correction["event_time"] - Event(0).time) / 60_000, page=page)
