"""The section `[site]`: the reports that pages about visitors need, made of one line."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from tidemark.command_line.printable import quoted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import Type
from tidemark.pipeline.settings.durations import PositiveDuration
from tidemark.pipeline.settings.measure_settings import MeasureSettings, ValueSettings
from tidemark.pipeline.settings.report_settings import (
    DEFAULT_REPORTS,
    FIELD_NAME,
    DimensionSettings,
    ReportSettings,
    Section,
    WindowSettings,
    zone_of,
)

PREFIX: Final = "site_"
"""The prefix of the names of the reports of `[site]`."""
_REFERRER: Final = "referrer"
"""The field of Tidemark's own contract with the page before."""
_MINUTE: Final = timedelta(minutes=1)
_SPANS: Final[Mapping[str, timedelta]] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


class SiteSettings(Section):
    """The reports `site_*`, from which visitors, visits and page views of any period are made."""

    zone: str = "UTC"
    """Time zone whose days and hours they have, such as `Europe/Berlin`."""
    visit_gap: PositiveDuration = timedelta(minutes=30)
    """A visit ends after this time without an event of the user."""
    referrer: Annotated[str, Field(pattern=f"^({FIELD_NAME})?$"), "FIELD"] | None = None
    """Field or dimension with the URL of the page before, whose host is counted; empty: no such report. By default
    `referrer`, or nothing with fields of your own in `schemas.mapping`."""
    campaign: Annotated[str, Field(pattern=f"^({FIELD_NAME})?$"), "FIELD"] = ""
    """Field or dimension with the campaign of a visit; by default visits have no campaign."""

    @model_validator(mode="after")
    def _zone_exists(self) -> Self:
        zone_of(self.zone)
        return self


@dataclass(frozen=True, slots=True)
class SiteReports:
    """The reports, dimensions and measures that `[site]` adds to the settings, by name."""

    reports: Mapping[str, ReportSettings]
    dimensions: Mapping[str, DimensionSettings]
    measures: Mapping[str, MeasureSettings]


NO_SITE: Final = SiteReports({}, {}, {})


def site_reports(
    site: SiteSettings, dimensions: Mapping[str, DimensionSettings], referrer: str, *, is_json: bool
) -> SiteReports:
    """Returns the reports of `[site]`, and the dimensions and measures that only they have.

    `dimensions` are those of the user, `referrer` is what `referrer_of` returns, `is_json` is the format of the events.
    """
    host = _host_sql(referrer, dimensions, is_json=is_json)
    texts = {"entry_page": MeasureSettings(first=_at(c.PAGE_URL)), "exit_page": MeasureSettings(last=_at(c.PAGE_URL))}
    if host:  # empty for a visit that starts without a referrer, which a later page must not replace
        texts[c.REFERRING_HOST] = MeasureSettings(first=ValueSettings(sql=f"coalesce({host}, '')"))
    if site.campaign:
        texts["campaign"] = MeasureSettings(first=_value(site.campaign, dimensions))
    users = ("page_views", "clicks", "unique_users")
    reports = {
        "by_minute": ReportSettings(window=WindowSettings(size=_MINUTE)),
        **_by_span("", site.zone, (), users),
        **_by_span("pages_", site.zone, (c.PAGE_URL,), users),
        **_by_span("users_", site.zone, (c.USER_ID,)),
        **(_by_span("referrers_", site.zone, (c.REFERRING_HOST,)) if host else {}),
        "visits": ReportSettings(
            keys=(c.USER_ID,),
            measures=("page_views", "clicks", "duration_ms", "bounced", *texts),
            window=WindowSettings(gap=site.visit_gap),
        ),
    }
    return SiteReports(
        {f"{PREFIX}{name}": report for name, report in reports.items()},
        {c.REFERRING_HOST: DimensionSettings(sql=host)} if host else {},
        texts,
    )


def referrer_of(site: SiteSettings, *, has_own_fields: bool) -> str:
    """Returns the field or dimension with the page before; empty without one.

    `has_own_fields`: `schemas.mapping` names fields of another contract.
    """
    if site.referrer is None:
        return "" if has_own_fields else _REFERRER
    return site.referrer


def require_no_site_names(kind: str, names: Collection[str], added: Collection[str]) -> None:
    """Raises ValueError if the user's own reports, dimensions or measures have names of `[site]`.

    `kind` is the name of the setting, `added` are the names that `[site]` makes.
    """
    for name in names:
        is_report_of_site = kind == "reports" and name.startswith(PREFIX) and name not in DEFAULT_REPORTS
        if name in added or is_report_of_site:
            reserved = f"names that start with {PREFIX} are" if is_report_of_site else "this name is"
            raise ValueError(f"{kind}.{name}: {reserved} for what [site] makes: rename {quoted(name)}")


def _by_span(
    prefix: str, zone: str, keys: tuple[str, ...], measures: tuple[str, ...] = ("page_views", "clicks")
) -> dict[str, ReportSettings]:
    """Returns a report by hour and a report by day."""
    return {
        f"{prefix}by_{name}": ReportSettings(keys=keys, measures=measures, window=WindowSettings(size=size, zone=zone))
        for name, size in _SPANS.items()
    }


def _at(path: str) -> ValueSettings:
    return ValueSettings(path=path)


def _value(name: str, dimensions: Mapping[str, DimensionSettings]) -> ValueSettings:
    """Returns the value of a dimension of the user, or at a path."""
    of = dimensions.get(name)
    if of is None:
        return _at(name)
    if of.zone:
        raise ValueError(f"site.campaign is {quoted(name)}, a dimension with a zone: name one that is no time")
    return ValueSettings(path=of.path, sql=_as_text(of))


def _as_text(dimension: DimensionSettings) -> str:
    if not dimension.sql or dimension.type is Type.TEXT:
        return dimension.sql
    return f"CAST(({dimension.sql}) AS STRING)"


def _host_sql(referrer: str, dimensions: Mapping[str, DimensionSettings], *, is_json: bool) -> str:
    """Returns SQL of the host of another site that led to a page; empty without a referrer."""
    if not referrer:
        return ""
    of = dimensions.get(referrer)
    url = f"({of.sql})" if of and of.sql else _field_sql(of.path if of else referrer, is_json=is_json)
    # A page that has no host of its own, such as /start, is never equal to a host.
    return f"nullif(lower(parse_url({url}, 'HOST')), lower(parse_url({c.PAGE_URL}, 'HOST')))"


def _field_sql(path: str, *, is_json: bool) -> str:
    """Returns SQL of the text at a path; a field of JSON with others inside is a text."""
    field, _, inside = path.partition(".")
    return f"get_json_object({field}, '$.{inside}')" if is_json and inside else path
