"""A report: its events, keys, windows, measures and allowed lateness."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.dimensions import STORED, Dimension, Type
from tidemark.pipeline.event_time.field_measures import FieldMeasure, measures_of
from tidemark.pipeline.event_time.windows.base import Terms
from tidemark.pipeline.measures import COUNTS, MEASURES, TIMES, Display, Join, Measure, Part

if TYPE_CHECKING:  # windows import `lateness`, which imports this module
    from tidemark.pipeline.event_time.windows.kinds import AnyWindows

KEYS: Final = (c.USER_ID, c.PAGE_URL, c.EVENT_TYPE)
"""The keys of reports that every event has, without a dimension."""
PANE_KEYS: Final = (*KEYS, *STORED)
"""The columns of `panes` with keys."""


@dataclass(frozen=True, slots=True)
class Report(Terms):
    """The definition of a result table over the stream. Durations are milliseconds."""

    name: str
    windows: "AnyWindows"
    allowed_lateness_ms: int
    keys: tuple[str, ...] = ("user_id",)
    """Any of `user_id`, `page_url`, `event_type`, and its dimensions; without keys there is one row per window."""
    where: str = ""
    """SQL condition over an event's fields; only events that fulfil it belong to the report."""
    measures: tuple[str, ...] = ("page_views", "clicks")
    """Names of `MEASURES` and of its own: the columns of the table in addition to keys and windows."""
    session_gap_ms: int = 0
    closed_before_ms: int = rules.NO_WATERMARK
    dimensions: tuple[Dimension, ...] = ()
    """The keys that are dimensions, in the order of their names."""
    field_measures: tuple[FieldMeasure, ...] = ()
    """The measures of fields, which are its own, in the order of their names."""

    @property
    def chosen_measures(self) -> tuple[Measure, ...]:
        """The definitions of its measures."""
        own = {measure.name: measure for measures in measures_of(self.field_measures) for measure in measures}
        return tuple(own[name] if name in own else MEASURES[name] for name in self.measures)

    @property
    def stored_parts(self) -> dict[str, Part]:
        """The joined parts that its table stores, by their columns: several measures may be made of one."""
        return {name: part for measure in self.chosen_measures for name, part in measure.stored.items()}

    @property
    def hidden(self) -> set[str]:
        """The columns of its table that only serve to join rows, and are no measures."""
        return {state for measure in self.chosen_measures for state in measure.states} - {*self.measures}

    @property
    def sums(self) -> list[str]:
        """Names of the measures that may be added up over rows."""
        return [measure.name for measure in self.chosen_measures if measure.adds_up]

    @property
    def limited(self) -> tuple[Dimension, ...]:
        """The dimensions of which published windows have only the largest values, and one row for all others."""
        return tuple(dimension for dimension in self.dimensions if dimension.top)

    @property
    def ranked_by(self) -> str:
        """The count of events by which the values of `limited` are ranked: the first that the report has."""
        return next((part.name for part in COUNTS if part.name in self.measures), c.EVENTS)

    @property
    def row_keys(self) -> tuple[str, ...]:
        """The columns that identify a row of a window: the keys, and the numbers of values that it is the sum of."""
        return (*self.keys, *(dimension.others for dimension in self.limited))

    @property
    def estimates(self) -> list[str]:
        """Names of the measures that are estimates."""
        about = (Display.ESTIMATE, Display.QUANTILE)
        return [measure.name for measure in self.chosen_measures if measure.display in about]

    @property
    def window_sums(self) -> list[Measure]:
        """The measures that may be added up over the rows of a window: different users of two rows may be the same."""
        return [
            measure
            for measure in self.chosen_measures
            if measure.adds_up or (measure.display is Display.ESTIMATE and not self.keys)
        ]

    @property
    def fold_keys(self) -> tuple[str, ...]:
        """The columns by which the fold groups a batch: the keys, and what a measure needs in addition."""
        columns = {dimension.name: dimension.column for dimension in self.dimensions}
        keys = (columns.get(key, key) for key in self.keys)
        return tuple(sorted({*keys, *(measure.by for measure in self.chosen_measures if measure.by)}))

    def stored(self, key: str) -> str:
        """Returns the column of `panes` and `corrections` with a key, or with what has this column in a fold."""
        return next((stored for dimension, stored in self._stored() if key in (dimension.name, dimension.column)), key)

    @property
    def types(self) -> Mapping[str, Type]:
        """The types of keys that are no texts."""
        return {dimension.name: dimension.type for dimension in self.dimensions if dimension.type is not Type.TEXT}

    @property
    def typed_keys_sql(self) -> str:
        """SQL of the dimensions, by name and in their types, over `panes` or `corrections`: each after a comma."""
        return "".join(f", {dimension.typed_sql(stored)} AS {dimension.name}" for dimension, stored in self._stored())

    def same_keys_sql(self, corrections: str) -> str:
        """Returns SQL conditions, each after AND: rows of `result` and of the table `corrections` have equal keys.

        A key may be null in both.
        """
        types = {dimension.name: dimension for dimension in self.dimensions}
        stored = {key: f"{corrections}.{self.stored(key)}" for key in self.keys}
        typed = {key: types[key].typed_sql(column) if key in types else column for key, column in stored.items()}
        return "".join(f" AND (result.{key} IS NOT DISTINCT FROM {column})" for key, column in typed.items())

    def keys_of(self, pane: Mapping[str, Any]) -> tuple[Any, ...]:
        """Returns the values of the keys in a row of `panes` or `corrections`."""
        stored = {dimension.name: dimension.type.value_of(pane[name]) for dimension, name in self._stored()}
        return tuple(stored[key] if key in stored else pane[key] for key in self.keys)

    def parts_of(self, event: Mapping[str, Any], sketch_of: Callable[[Iterable[str]], bytes]) -> dict[str, Any]:
        """Returns the columns of `corrections` with the measures of fields, of an event with the columns of a fold.

        The event also has its partition and offset. `sketch_of` makes a sketch of values.
        """
        columns = dict[str, Any]()
        position = event[c.PARTITION] * rules.PARTITION_STEP + event[c.OFFSET]
        for definition, measures in zip(self.field_measures, measures_of(self.field_measures), strict=True):
            values = definition.parts_of(event[definition.column], event[c.TIME], position, sketch_of)
            columns |= {part.name: value for part, value in zip(measures[0].parts, values, strict=True)}
        return columns

    @property
    def pane_keys(self) -> tuple[str, ...]:
        """The columns of `panes` by which they are grouped: the keys, and the user for measures of sessions."""
        users = (measure.by for measure in self.chosen_measures if measure.of_sessions)
        return tuple(sorted({*map(self.stored, self.keys), *users}))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The columns of its panes in addition to their keys. Sketches of a key are left out."""
        times = TIMES if self.windows.is_timed or self.folds_events else ()
        wanted = dict.fromkeys([*COUNTS, *times, *(part for measure in self.chosen_measures for part in measure.parts)])
        return tuple(part for part in wanted if not part.join.is_sketch or part.fold not in self.pane_keys)

    @property
    def pane_ms(self) -> int:
        """Length of its panes: they divide windows, and for measures of sessions also the session gap."""
        return gcd(self.windows.pane_ms, self.session_gap_ms)

    @property
    def shift_ms(self) -> int:
        """Milliseconds that are added to times so that panes start at multiples of their length."""
        return self.windows.shift_ms

    @property
    def keeps_events(self) -> bool:
        """Whether each event has its own row in `panes`."""
        return self.windows.keeps_events

    @property
    def folds_events(self) -> bool:
        """Whether a fold has a row for each event: panes keep the events, or a measure needs their order."""
        parts = (part for measure in self.chosen_measures for part in measure.parts)
        return self.keeps_events or any(part.join is Join.PATH for part in parts)

    @property
    def event_ms(self) -> int | None:
        """Length of an event's own window if lateness is judged by event; None if it is judged by pane."""
        return self.windows.event_ms

    def earliest_after(self, horizon: int) -> int:
        """Returns the earliest time in milliseconds with a window that ends after `horizon`."""
        return self.windows.earliest_after(horizon)

    def _stored(self) -> list[tuple[Dimension, str]]:
        """Returns each dimension and the column of `panes` that has its values as text."""
        return [*zip(self.dimensions, STORED, strict=False)]


def view_name(report: str) -> str:
    """Returns the name of a report's live view."""
    return f"{report}_live"
