"""Measures, which a report can count. Other modules derive all that they need from the entries of `MEASURES`.

The fold aggregates the events of a group to parts, which are columns of `panes`. The parts of all groups of a window
are joined to the value of a measure. A correction is one more part.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tidemark.pipeline import columns as c

TIME_DIGITS: Final = 19
"""Times in milliseconds are zero-padded to this many digits, so that the order of texts is that of times."""


class Join(StrEnum):
    """The function that joins values, as Spark, Arrow and DuckDB call it; sketches have no such function."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    SKETCH = "sketch"
    """The different values of a text are counted: see `tidemark.pipeline.sketches`."""
    DDSKETCH = "ddsketch"
    """The numbers are counted by their size: see `tidemark.pipeline.ddsketch`."""
    SET = "set"
    """The different texts are listed up to a bound: see `tidemark.pipeline.value_lists`."""
    PATH = "path"
    """The texts are listed in the order of their events up to a bound: see `tidemark.pipeline.value_lists`."""
    FIRST = "first"
    """Only of a fold's aggregates: the text of the earliest event that has one, after its time; `MIN` joins such."""
    LAST = "last"
    """Only of a fold's aggregates: the text of the latest event that has one, after its time; `MAX` joins such."""

    @property
    def is_sketch(self) -> bool:
        """Whether the values are sketches or lists, which the driver makes and merges."""
        return self in (Join.SKETCH, Join.DDSKETCH, Join.SET, Join.PATH)

    @property
    def is_of_text(self) -> bool:
        """Whether a text is chosen by the time of its event."""
        return self in (Join.FIRST, Join.LAST)


class Display(StrEnum):
    """The form in which a result displays the joined parts of a window."""

    NUMBER = "number"
    ESTIMATE = "estimate"
    """The count of a sketch, which has a column of its own."""
    MOMENT = "moment"
    """Milliseconds, as a timestamp in UTC."""
    TEXT_AFTER_TIME = "text_after_time"
    """The rest of a text that starts with `TIME_DIGITS` digits and a space; null without a rest.

    The greatest of such texts is the latest, in every engine. It has a column of its own.
    """
    EXACT = "exact"
    """A whole number divided by 10 ** `digits`; null for `NO_NUMBER`."""
    ELAPSED = "elapsed"
    """The second part minus the first, both of which have columns of their own."""
    SINGLE_VIEW = "single_view"
    """1 if the first part is 1 and the second 0, else 0; both have columns of their own."""
    AVERAGE = "average"
    """The first part divided by 10 ** `digits` and by the second; null if that is 0. Both have columns of their own."""
    QUANTILE = "quantile"
    """A quantile of the numbers in a sketch, which has a column of its own; null without a number."""
    LIST = "list"
    """The listed texts of a state, which has a column of its own."""
    LEFT_OUT = "left_out"
    """How many texts a state does not list; it has a column of its own."""


NO_NUMBER: Final[Mapping[Join, int]] = {Join.SUM: 0, Join.MIN: 2 * 10**18, Join.MAX: -2 * 10**18}
"""The value of a part without a number, which changes no other; a minimum or maximum cannot have it."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value that a fold computes for each group of events: its name, its function, and the column that it reads.

    An event has `visit` and `click` (0 or 1) and `time` (milliseconds). A chosen text is stored after `TIME_DIGITS`
    digits of its event's time and a space.
    """

    name: str
    join: Join
    input: str


_VISITED: Final = Aggregate(c.PAGE_VIEWS, Join.SUM, "visit")
_CLICKED: Final = Aggregate(c.CLICKS, Join.SUM, "click")
_FIRST: Final = Aggregate(c.FIRST_TIME, Join.MIN, c.TIME)
_LAST: Final = Aggregate(c.LAST_TIME, Join.MAX, c.TIME)


@dataclass(frozen=True, slots=True)
class Part:
    """A column of `panes`: its name, the name of its type in Arrow, and how its values join."""

    name: str
    type: str
    join: Join
    fold: str
    """Spark SQL over a group, which has its number of `records`, the part's aggregates, and its keys.

    Its value has `type` and is never null. It may read one field more, which `Measure.by` names.

    For a sketch, the column of the values that it counts: batches are grouped by it, and the driver makes the sketch.
    """
    corrected: str
    """SQL of delta-rs over `corrections`: what an event adds that was too late; of `type`, never null."""
    aggregates: tuple[Aggregate, ...] = ()
    if_null: str = ""
    """SQL of the value in rows of `panes` that an older version wrote without this column; of any engine."""
    column: str = ""
    """Its column in a fold, if columns of `panes` are shared by parts of several reports."""
    is_exact: bool = False
    """Whether a sum over many batches may exceed 64 bits, which must be an error."""
    most: int = 0
    """The most texts that a list has."""

    @property
    def folded(self) -> str:
        """Its column in a fold."""
        return self.column or self.name


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of results. Its value is made of its parts, unless it has SQL of its own."""

    name: str
    parts: tuple[Part, ...]
    display: Display = Display.NUMBER
    by: str = ""
    """The field that batches are grouped by for this measure, in addition to the report's keys."""
    states: tuple[str, ...] = ()
    """The columns of results that store the joined parts, if the measure displays another value."""
    sql: str = ""
    """SQL over the panes of a window, if no part is the measure; corrections and live views cannot compute it."""
    of_sessions: bool = False
    """Whether it counts users' sessions: panes keep the users, and a window reads the events of a gap before it."""
    is_anywhere: bool = False
    """Whether sessions and count windows can have it, in addition to windows of time."""
    digits: int = 0
    """The number of decimal digits of its numbers."""
    quantile: int = 0
    """The quantile that it displays, in `tidemark.pipeline.ddsketch.WHOLE`-ths."""
    is_of_visits: bool = False
    """Whether only sessions can have it."""

    @property
    def part(self) -> Part:
        """Returns the part that joins in results; a measure with SQL of its own is its own part."""
        return Part(self.name, "int64", Join.SUM, "", "0") if self.sql else self.parts[0]

    @property
    def stored(self) -> dict[str, Part]:
        """The joined parts that results store, by their columns."""
        return dict(zip(self.states, self.parts, strict=True)) if self.states else {self.name: self.part}

    @property
    def adds_up(self) -> bool:
        """Whether the values of several rows may be added up."""
        is_sum = self.part.join is Join.SUM and self.display is not Display.AVERAGE
        return is_sum or self.display is Display.ELAPSED


COUNTS: Final = (
    Part(c.PAGE_VIEWS, "int64", Join.SUM, c.PAGE_VIEWS, c.PAGE_VIEWS, (_VISITED,)),
    Part(c.CLICKS, "int64", Join.SUM, c.CLICKS, c.CLICKS, (_CLICKED,)),
    Part(c.EVENTS, "int64", Join.SUM, c.RECORDS, "1", if_null=f"{c.PAGE_VIEWS} + {c.CLICKS}"),
)
"""The parts that all panes have: the number of events is above the sum of the others if events have other kinds."""
EVENTS_SQL: Final = f"coalesce({c.EVENTS}, {COUNTS[2].if_null})"
"""SQL of the number of events in a row of `panes`, of any engine."""
TIMES: Final = (
    Part(c.FIRST_TIME, "int64", Join.MIN, c.FIRST_TIME, c.EVENT_TIME, (_FIRST,)),
    Part(c.LAST_TIME, "int64", Join.MAX, c.LAST_TIME, c.EVENT_TIME, (_LAST,)),
)
"""First and last event time of a group, in milliseconds."""
_SESSIONS_BEGUN_SQL: Final = "sum(CASE WHEN first_time > reach THEN 1 ELSE 0 END)"
_USERS: Final = Part(c.USERS, "binary", Join.SKETCH, fold=c.USER_ID, corrected=c.USER_ID)
# A batch is grouped by page, so that the maximum of the times decides which page is the latest.
_PAGE_SQL: Final = f"concat_ws(' ', lpad(CAST({{time}} AS STRING), {TIME_DIGITS}, '0'), page_url)"
_LAST_PAGE: Final = Part(
    c.LAST_PAGE,
    "string",
    Join.MAX,
    fold=_PAGE_SQL.format(time=c.LAST_TIME),
    corrected=_PAGE_SQL.format(time=c.EVENT_TIME),
    aggregates=(_LAST,),
)

MEASURES: Final[Mapping[str, Measure]] = {
    measure.name: measure
    for measure in (
        Measure(c.PAGE_VIEWS, COUNTS[:1], is_anywhere=True),
        Measure(c.CLICKS, COUNTS[1:2], is_anywhere=True),
        Measure(c.EVENTS, COUNTS[2:], is_anywhere=True),
        Measure(c.UNIQUE_USERS, (_USERS,), Display.ESTIMATE, by=c.USER_ID, states=(c.USERS_SKETCH,)),
        Measure(c.SESSIONS_BEGUN, TIMES, by=c.USER_ID, sql=_SESSIONS_BEGUN_SQL, of_sessions=True),
        Measure(
            c.LAST_PAGE_URL,
            (_LAST_PAGE,),
            Display.TEXT_AFTER_TIME,
            by=c.PAGE_URL,
            states=(c.LAST_PAGE,),
            is_anywhere=True,
        ),
        Measure(c.FIRST_SEEN, TIMES[:1], Display.MOMENT, is_anywhere=True),
        Measure(c.LAST_SEEN, TIMES[1:], Display.MOMENT, is_anywhere=True),
        Measure(c.DURATION_MS, TIMES, Display.ELAPSED, states=(c.FIRST_EVENT_MS, c.LAST_EVENT_MS), is_of_visits=True),
        Measure(c.BOUNCED, COUNTS[:2], Display.SINGLE_VIEW, states=(c.PAGE_VIEWS, c.CLICKS), is_of_visits=True),
    )
}
"""Measures by name, in the order of their columns."""
PARTS: Final = tuple(dict.fromkeys(part for measure in MEASURES.values() for part in measure.parts))
"""All columns of `panes` that measures read."""


def label(name: str, estimates: Collection[str] = (c.UNIQUE_USERS,)) -> str:
    """Returns the name of a column as people read it; a number that is an estimate is marked.

    `estimates` are the columns with such numbers.

    >>> label("page_views"), label("unique_users")
    ('page views', 'unique users (about)')
    """
    return name.replace("_", " ") + (" (about)" if name in estimates else "")
