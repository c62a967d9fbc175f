"""The settings of reports: which events, by which keys, in which windows."""

import re
from datetime import date, timedelta
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tidemark.command_line.printable import quoted
from tidemark.pipeline.event_time.dimensions import Type
from tidemark.pipeline.event_time.reports import KEYS, view_name
from tidemark.pipeline.event_time.windows.calendar import Calendar, has_whole_parts
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.settings.column_names import is_reserved
from tidemark.pipeline.settings.durations import (
    MOST,
    Duration,
    PositiveDuration,
    PositiveDurationOrCount,
    milliseconds,
)
from tidemark.pipeline.settings.window_limits import WindowLength

FIELD_NAME: Final = r"[A-Za-z0-9_@$:/-]+(\.[A-Za-z0-9_@$:/-]+)*"
"""Names with dots between them. Avro has fewer names than JSON: others are missing in every schema."""
COLUMN_NAME: Final = r"[a-z][a-z0-9_]{0,62}"
"""Names of dimensions and measures."""
Count = Annotated[int, Field(gt=0, le=MOST)]
MOST_VALUES: Final = 1_000_000
"""The highest `top` of a dimension."""


@cache
def time_zones() -> frozenset[str]:
    """Returns the names of all time zones that mean the same on each machine. Python reads hundreds of files."""
    return frozenset(available_timezones() - {"Factory", "localtime"})


def zone_of(name: str) -> ZoneInfo:
    """Returns the time zone with a name such as `Europe/Berlin`. Raises ValueError if it does not exist."""
    if name not in time_zones():
        raise ValueError(f"there is no time zone {quoted(name)}: write one such as Europe/Berlin")
    return ZoneInfo(name)


class Section(BaseModel):
    """A section of the tree of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)


def _default_offset_ms(apart: timedelta) -> int:
    """Returns the shift of windows that start `apart` from each other: weeks as a calendar with a zone has them.

    >>> _default_offset_ms(timedelta(weeks=1)) / 86_400_000  # from Thursday 1970-01-01 to the Monday after it
    4.0
    """
    return milliseconds((date(1, 1, 1) - date(1970, 1, 1)) % apart) if apart % timedelta(weeks=1) == timedelta(0) else 0


class WindowSettings(Section):
    """Windows: tumbling, sliding, cumulating or by calendar; or sessions, or counts of events."""

    size: WindowLength = timedelta(minutes=1)
    """Length of a window."""
    slide: PositiveDurationOrCount | None = None
    """Time from the start of a window to the start of the next; without it windows tumble. With a count, the number of
    events from the end of a window to the end of the next."""
    step: PositiveDuration | None = None
    """Windows cumulate: they grow by this step up to the size, which is a multiple of it, and then start again."""
    offset: Duration | None = None
    """Shift of the windows: with a size of 1d and an offset of 6h days start at 06:00 UTC; by default whole weeks start
    on a Monday, and other windows have no offset."""
    zone: str = ""
    """Time zone of calendar windows, such as `Europe/Berlin`; a day may then have 23 or 25 hours."""
    gap: WindowLength | None = None
    """Windows are sessions: events of a key, each within this gap of the event before."""
    count: Count | None = None
    """A window is this many events of a key, in order of arrival; with a slide the last ones, after every `slide`."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        size_ms = milliseconds(self.size)
        if self.step is not None and size_ms % milliseconds(self.step):
            raise ValueError("size must be a multiple of step: windows grow by the step up to the size")
        names = self.model_fields_set
        if names & {"gap", "count"} and len(names) > 1 and names != {"count", "slide"}:
            raise ValueError(
                "sessions have only a gap, and count windows only a count and a slide: leave out the other settings of "
                "windows"
            )
        _check_slide(self.slide, self.size if self.count is None else self.count)
        if self.slide is not None and self.step is not None:
            raise ValueError("windows have a slide or a step: set one of the two")
        if self.zone and self.model_fields_set & {"slide", "step", "offset"}:
            raise ValueError("windows with a zone have no slide, step or offset")
        if self.zone:
            zone_of(self.zone)
        if self.zone and not has_whole_parts(size_ms):
            raise ValueError("the size of windows with a zone must be whole days, or divide a day into equal parts")
        return self

    def windows(self) -> AnyWindows:
        """Returns the windows for the event-time core."""
        size_ms = milliseconds(self.size)
        if self.gap is not None:
            return Sessions(milliseconds(self.gap))
        if self.count is not None:
            if isinstance(self.slide, int) and self.slide < self.count:
                return SlidingCounts(self.count, self.slide)
            return Counts(self.count)
        if self.zone:
            return Calendar(size_ms, self.zone)
        slide = self.slide if isinstance(self.slide, timedelta) else self.size
        offset_ms = _default_offset_ms(slide) if self.offset is None else milliseconds(self.offset)
        if self.step is not None:
            return Cumulate(size_ms, milliseconds(self.step), offset_ms)
        return Grid(size_ms, milliseconds(slide), offset_ms)


def _check_slide(slide: timedelta | int | None, size: timedelta | int) -> None:
    """Raises ValueError unless a slide is of the kind of the windows' size, and at most that."""
    match slide, size:
        case (int(), timedelta()):
            raise ValueError(
                f'slide {slide} is not a duration: write a number and a unit as text, such as "30s"; only with a '
                "count it is a number of events"
            )
        case (timedelta(), int()):
            raise ValueError("with a count, slide is a number of events, such as 1")
        case (timedelta(), timedelta()) if slide > size:
            raise ValueError("slide must not be longer than size: events between two windows would be in no window")
        case (int(), int()) if slide > size:
            raise ValueError("slide must not be greater than count: events between two windows would be in no window")


class SourceSettings(Section):
    """The source of a dimension or a measure: the field of an event at a path, or SQL over its fields."""

    made: ClassVar[str]
    """How error messages name whatever has this source."""

    path: Annotated[str, Field(pattern=f"^({FIELD_NAME})?$"), "FIELD"] = ""
    """Field of the event; dots for fields of nested records, such as `context.campaign.name`, also inside of a text
    that is JSON."""
    sql: str = ""
    """Spark SQL over the fields."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if bool(self.path) == bool(self.sql):
            raise ValueError(f"set a path or sql: a {self.made} has one of the two")
        return self


def path_of_text(value: Any) -> Any:
    """Returns the settings of a source that is a text: its path."""
    return {"path": value} if isinstance(value, str) else value


class DimensionSettings(SourceSettings):
    """A key for reports that is made of any field: a path, or SQL."""

    made: ClassVar[str] = "dimension"

    sql: str = ""
    """Spark SQL over the fields, such as `parse_url(referrer, 'HOST')`; null for events for which it fails."""
    type: Type = Type.TEXT
    """Type of the values: `text`, `integer`, `boolean` or `date`; a value that does not fit is null."""
    zone: str = ""
    """Time zone, such as `Europe/Berlin`: then `event_time` in the SQL is the local time, as in `hour(event_time)`;
    without it milliseconds since 1970."""
    personal: bool = False
    """Values are ids of people: `tidemark erase` erases them, and they are pseudonyms where users are."""
    top: Annotated[int, Field(ge=0, le=MOST_VALUES)] = 0
    """Published windows have a row for each of this many values with the most events, and one for all others; 0: a row
    for each value."""

    @model_validator(mode="after")
    def _path_of_personal(self) -> Self:
        if self.personal and (self.sql or self.type is not Type.TEXT):
            raise ValueError(
                "personal is for texts at a path: values that SQL or another type makes of an id would not be found by "
                "an erasure, so name the field with the id"
            )
        if self.personal and self.top:
            raise ValueError(
                "personal and top exclude each other: a person among all others could not be erased, so leave out one "
                "of the two"
            )
        return self

    @model_validator(mode="after")
    def _zone_of_sql(self) -> Self:
        if self.zone and not self.sql:
            raise ValueError("zone is for sql that names event_time: leave it out")
        if self.zone:
            zone_of(self.zone)
        return self


PathOrDimension = Annotated[
    DimensionSettings, BeforeValidator(path_of_text, json_schema_input_type=str | DimensionSettings)
]
"""A path alone may be a text."""


class ReportSettings(Section):
    """A result table: which events, by which keys, in which windows."""

    keys: tuple[str, ...] = ()
    """Some of `user_id`, `page_url`, `event_type` and names of `dimensions`: one row per window and key; without keys
    one row per window."""
    where: str = ""
    """Condition on events, in SQL over their fields, such as `event_type = 'click'`; by default all events."""
    measures: tuple[str, ...] = ("page_views", "clicks")
    """Measures of each row, such as `page_views`, and names of `measures`; some need windows of time."""
    session_gap: PositiveDuration = timedelta(minutes=30)
    """For `sessions_begun`: a session ends after this time without an event of the user."""
    window: WindowSettings | None = None
    """Windows of the report; by default `window`."""
    allowed_lateness: Duration | None = None
    """Allowed lateness of the report; by default `time.allowed_lateness`."""

    @model_validator(mode="after")
    def _has_a_measure(self) -> Self:
        if not self.measures:
            raise ValueError("a report needs a measure")
        return self


def dimension_names(value: dict[str, PathOrDimension]) -> dict[str, PathOrDimension]:
    """Returns the dimensions unchanged. Raises ValueError if a name is not allowed for a column."""
    for name in value:
        if not re.fullmatch(COLUMN_NAME, name):
            raise ValueError(
                f"a dimension cannot be named {quoted(name)}: start with a lower-case letter, use lower-case letters, "
                "digits and _, at most 63 characters"
            )
        if name in KEYS or name in MEASURES or is_reserved(name):
            raise ValueError(
                f"a dimension cannot be named {quoted(name)}, which is a word of SQL or another column: choose another "
                f"name, such as {name}_of_event"
            )
    return value


def report_names(value: dict[str, ReportSettings]) -> dict[str, ReportSettings]:
    """Returns the reports unchanged. Raises ValueError if a name is not allowed for a table."""
    for name in value:
        if not re.fullmatch(rf"[a-z][a-z0-9_]{{0,{_LONGEST_NAME - 1}}}", name) or name in _RESERVED:
            raise ValueError(
                f"a report cannot be named {quoted(name)}: start with a lower-case letter, use lower-case letters, "
                f"digits and _, at most {_LONGEST_NAME} characters, and another name than {', '.join(_RESERVED)}"
            )
        if view_name(name) in value:
            raise ValueError(f"report {view_name(name)} has the name of the live view of {name}: rename one of the two")
    if not value:
        raise ValueError("set at least one report")
    return value


_RESERVED: Final = (
    *("corrections", "dead_letters", "erased_users", "erasures", "event_ids", "event_schemas", "ledger", "panes"),
    "user_totals",
    *("now", "numbered", "parts", "placed", "windowed"),
)
"""Names of other tables, and of the subqueries of live views."""
_LONGEST_NAME: Final = 200
"""A file system has names of up to 255 bytes, some of which the store needs for itself."""
DEFAULT_REPORTS: Final = {
    "page_views": ReportSettings(keys=("user_id",)),
    "page_traffic": ReportSettings(keys=("page_url",)),
    "site_traffic": ReportSettings(),
}


class TotalsSettings(Section):
    """The table `user_totals`: first and last event, sessions, page views and clicks per user."""

    gap: PositiveDuration = timedelta(minutes=30)
    """A session ends after this time without an event of the user."""
    every: PositiveDuration = timedelta(minutes=1)
    """The table is updated when the watermark passes a multiple of this interval, if there are new events."""
