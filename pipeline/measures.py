"""Measures: what a report may tell of the events of a row. Each is an entry of `MEASURES`, and all else goes by it.

The fold sums the events of a group up to parts, which are columns of `panes`; the parts of all groups of a window join
to what its row tells. A correction is one more part that joins.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pipeline import columns as c

TIME_DIGITS: Final = 19
"""As many as every time in milliseconds can have, so that the order of texts is that of times."""


class Join(StrEnum):
    """How values become one, by the name that Spark, Arrow and every SQL have for it; a sketch has none."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    SKETCH = "sketch"
    """Values of a text, of which different ones are counted: see `pipeline.sketches`."""


class Display(StrEnum):
    """How a result shows what the parts of a window join to."""

    NUMBER = "number"
    ESTIMATE = "estimate"
    """Of a sketch, which stands in a column beside it."""
    MOMENT = "moment"
    """Of milliseconds, as a timestamp in UTC."""
    TEXT_AFTER_TIME = "text_behind_time"
    """Of a text with `TIME_DIGITS`, a space and what is shown; nothing is shown where the digits are all there is.

    The highest of such texts is the latest, in every engine; it stands in a column beside what is shown.
    """


@dataclass(frozen=True, slots=True)
class Part:
    """A column of `panes`, the name of its type in Arrow, and how it joins."""

    name: str
    type: str
    join: Join
    fold: str
    """SQL of Spark: its sum over the events of a group, which have `click` (0 or 1), `time` and the group's keys.

    Of a sketch the field whose values it keeps: by that a batch is added up, and the driver makes the sketch.
    """
    corrected: str
    """SQL over `corrections`: what an event adds that was too late."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of results. It tells of its first part, unless it has SQL of its own."""

    name: str
    parts: tuple[Part, ...]
    display: Display = Display.NUMBER
    by: str = ""
    """A field of events by which a batch is added up for it, beside the keys."""
    state: str = ""
    """The column of results that has what the parts join to, where it is not what is shown."""
    sql: str = ""
    """SQL over the panes of a window, where no part tells the measure; corrections and open windows cannot tell it."""
    of_sessions: bool = False
    """Whether it tells of users' sessions: panes keep the users, and a window knows what came a gap before it."""
    is_anywhere: bool = False
    """Whether sessions and counts of events have it too, and not only windows of time."""

    @property
    def part(self) -> Part:
        """The part that joins in results; a measure with SQL of its own stays as it is."""
        return Part(self.name, "int64", Join.SUM, "", "0") if self.sql else self.parts[0]

    @property
    def adds_up(self) -> bool:
        """Whether those of several rows may be added up."""
        return self.part.join is Join.SUM


COUNTS: Final = (
    Part(c.PAGE_VIEWS, "int64", Join.SUM, fold="count(1) - sum(click)", corrected=c.PAGE_VIEWS),
    Part(c.CLICKS, "int64", Join.SUM, fold="sum(click)", corrected=c.CLICKS),
)
"""All panes keep them, for they tell how many events there are."""
TIMES: Final = (
    Part(c.FIRST_TIME, "int64", Join.MIN, fold="min(time)", corrected=c.EVENT_TIME),
    Part(c.LAST_TIME, "int64", Join.MAX, fold="max(time)", corrected=c.EVENT_TIME),
)
"""In milliseconds."""
_BEGUN: Final = "sum(CASE WHEN first_time > reach THEN 1 ELSE 0 END)"
_USERS: Final = Part(c.USERS, "binary", Join.SKETCH, fold=c.USER_ID, corrected=c.USER_ID)
# A batch is added up by pages, so that its latest page is a matter of times alone.
_PAGE: Final = f"concat_ws(' ', lpad(CAST({{time}} AS STRING), {TIME_DIGITS}, '0'), page_url)"
_LAST_PAGE: Final = Part(
    c.LAST_PAGE, "string", Join.MAX, fold=_PAGE.format(time="max(time)"), corrected=_PAGE.format(time=c.EVENT_TIME)
)

MEASURES: Final[Mapping[str, Measure]] = {
    one.name: one
    for one in (
        Measure(c.PAGE_VIEWS, COUNTS[:1], is_anywhere=True),
        Measure(c.CLICKS, COUNTS[1:], is_anywhere=True),
        Measure(c.UNIQUE_USERS, (_USERS,), Display.ESTIMATE, by=c.USER_ID, state=c.USERS_SKETCH),
        Measure(c.SESSIONS_BEGUN, TIMES, by=c.USER_ID, sql=_BEGUN, of_sessions=True),
        Measure(
            c.LAST_PAGE_URL, (_LAST_PAGE,), Display.TEXT_AFTER_TIME, by=c.PAGE_URL, state=c.LAST_PAGE, is_anywhere=True
        ),
        Measure(c.FIRST_SEEN, TIMES[:1], Display.MOMENT, is_anywhere=True),
        Measure(c.LAST_SEEN, TIMES[1:], Display.MOMENT, is_anywhere=True),
    )
}
"""By name, in the order of their columns."""
PARTS: Final = tuple(dict.fromkeys(part for one in MEASURES.values() for part in one.parts))
"""Every column of `panes` that a measure is made of."""
