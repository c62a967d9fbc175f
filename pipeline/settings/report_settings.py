"""The settings of reports: which events, by which keys, in which windows."""

import re
from datetime import timedelta
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, PositiveInt, model_validator

from pipeline.event_time.windows.base import Windows
from pipeline.event_time.windows.calendar import Calendar, has_whole_parts
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.cumulate import Cumulate
from pipeline.event_time.windows.grid import Grid
from pipeline.event_time.windows.session import Sessions
from pipeline.measures import MEASURES
from pipeline.settings.durations import Duration, PositiveDuration, milliseconds

Key = Literal["user_id", "page_url", "event_type"]


def zone_of(name: str) -> ZoneInfo:
    """The zone of a name such as `Europe/Berlin`. Raises ValueError where there is none, with how to write it."""
    if name not in available_timezones():
        raise ValueError(f"there is no time zone {name!r}: write one such as Europe/Berlin")
    return ZoneInfo(name)


def _measure(name: str) -> str:
    if name not in MEASURES:
        raise ValueError(f"there is no measure {name!r}: write some of {', '.join(MEASURES)}")
    return name


class Section(BaseModel):
    """A part of the tree of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)


class WindowSettings(Section):
    """Windows: of a size, tumbling, sliding, growing or by the calendar of a zone; or sessions, or a count."""

    size: PositiveDuration = timedelta(minutes=1)
    """Length of a window."""
    slide: PositiveDuration | None = None
    """Time from the begin of one window to the next; without it windows tumble, one after the other."""
    step: PositiveDuration | None = None
    """With it windows grow by the step up to the size, and then begin anew; the size is a multiple of it."""
    offset: Duration = timedelta(0)
    """How far windows are shifted: with a size of 1d and an offset of 6h days begin at 06:00 UTC."""
    zone: str = ""
    """A time zone such as `Europe/Berlin`, by whose clocks days and hours begin; they may then be longer or shorter."""
    gap: PositiveDuration | None = None
    """With it windows are sessions: events of a key that follow one another within the gap."""
    count: PositiveInt | None = None
    """With it a window is so many events of a key, in the order in which they came."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        size_ms = milliseconds(self.size)
        if self.slide is not None and self.slide > self.size:
            raise ValueError("slide must not be longer than size: events between two windows would belong to none")
        if self.step is not None and size_ms % milliseconds(self.step):
            raise ValueError("size must be a multiple of step: windows grow by the step up to the size")
        if self.model_fields_set & {"gap", "count"} and len(self.model_fields_set) > 1:
            raise ValueError("sessions have a gap and count windows a count, and neither has anything else")
        if self.slide is not None and self.step is not None:
            raise ValueError("windows slide, or they grow by a step: set one of the two")
        if self.zone and self.model_fields_set & {"slide", "step", "offset"}:
            raise ValueError("windows by the calendar of a zone have no slide, no step and no offset")
        if self.zone:
            zone_of(self.zone)
        if self.zone and not has_whole_parts(size_ms):
            raise ValueError("by the calendar a window is whole days, or a part of which a day has a whole number")
        return self

    def windows(self) -> Windows:
        """The windows as the pure core knows them."""
        size_ms = milliseconds(self.size)
        if self.gap is not None:
            return Sessions(milliseconds(self.gap))
        if self.count is not None:
            return Counts(self.count)
        if self.zone:
            return Calendar(size_ms, self.zone)
        offset_ms = milliseconds(self.offset)
        if self.step is not None:
            return Cumulate(size_ms, milliseconds(self.step), offset_ms)
        return Grid(size_ms, milliseconds(self.slide) if self.slide else size_ms, offset_ms)


class ReportSettings(Section):
    """A result table: which events, by which keys, in which windows."""

    keys: tuple[Key, ...] = ()
    """Of `user_id`, `page_url` and `event_type`: the table has a row for each in a window. None: one row per window."""
    where: str = ""
    """Which events belong to it, in SQL over the event's fields, such as `event_type = 'click'`; by default all."""
    measures: tuple[Annotated[str, AfterValidator(_measure)], ...] = ("page_views", "clicks")
    """What the table tells of a row's events, such as `page_views`; some are for windows of time only."""
    session_gap: PositiveDuration = timedelta(minutes=30)
    """For `sessions_begun`: a session ends when this passed without an event of the user."""
    window: WindowSettings | None = None
    """Its windows; by default those of `window`."""
    allowed_lateness: Duration | None = None
    """Its allowed lateness; by default that of `time.allowed_lateness`."""

    @model_validator(mode="after")
    def _has_a_measure(self) -> Self:
        if not self.measures:
            raise ValueError("a report needs a measure")
        return self


def report_names(value: dict[str, ReportSettings]) -> dict[str, ReportSettings]:
    """The reports as they are. Raises ValueError where one has a name that no table may have."""
    for name in value:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _RESERVED:
            raise ValueError(
                f"a report cannot be named {name!r}: write small letters, digits and _, and none of {_RESERVED}"
            )
    if not value:
        raise ValueError("there must be a report")
    return value


_RESERVED: Final = (
    *("corrections", "dead_letters", "erased_users", "erasures", "event_ids", "event_schemas", "ledger", "panes"),
    "user_totals",
)
OUT_OF_THE_BOX: Final = {
    "page_views": ReportSettings(keys=("user_id",)),
    "page_traffic": ReportSettings(keys=("page_url",)),
    "site_traffic": ReportSettings(),
}


class TotalsSettings(Section):
    """The table `user_totals`: per user, when it was first and last seen, its sessions, page views and clicks."""

    gap: PositiveDuration = timedelta(minutes=30)
    """A session ends when this passed without an event of the user."""
    every: PositiveDuration = timedelta(minutes=1)
    """The table is written anew when the watermark passes a multiple of it, if events came since."""
