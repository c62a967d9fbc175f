"""The outcome of a verification: its invariants, what was checked of each, and every violation."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from string import Formatter
from typing import Any, Final

import pyarrow as pa

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time import rules

Row = dict[str, Any]
EXAMPLES_OF_EACH: Final = 2
"""At most this many violations of one kind are described."""
_EXAMPLES: Final = 8
_OWN_TEXTS: Final = frozenset({"report", "reason", "was_read"})
"""Columns whose texts are Tidemark's own, or of the settings."""
_IDS: Final = frozenset({"id_high", "id_low"})
"""Columns with numbers that identify an event."""


@dataclass(slots=True)
class Finding:
    """The outcome for one invariant, collected while it is checked."""

    name: str
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many were checked, by singular and plural of the noun."""
    violation_count: int = 0
    violations: list[str] = field(default_factory=list)
    """The first few, each a sentence with the table, the position in it, what was found and what was expected."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what is not a violation: uncommitted rows, windows that are not published yet."""
    inapplicable: str = ""
    """Why there was nothing to check, if there is a reason."""
    hides_values: bool = False
    """Whether sentences have the name of a column instead of a value that comes from an event."""

    @property
    def checked(self) -> str:
        """How many of what were checked, as text."""
        return (
            ", ".join(counted(count, *nouns) for nouns, count in self.counts.items()) or self.inapplicable or "nothing"
        )

    def count(self, count: int, noun: str, plural: str = "") -> None:
        """Adds to the number of things that were checked."""
        self.counts[noun, plural] += count

    def note(self, sentence: str) -> None:
        """Adds a sentence on something that is not a violation."""
        self.notes.append(sentence)

    def note_unpublished(self, table: str, count: int, noun: str, more: str = "") -> None:
        """Adds a sentence on things that a table does not show yet, unless `count` is 0; `more` follows the noun."""
        if count:
            self.note(f"{table}: not published yet: {counted(count, noun)}{more}")

    def report(self, sentence: str, reason: str = "") -> None:
        """Adds one violation. `reason` is the text of an error, which may have values."""
        hidden = "(hidden)" if reason else ""
        self._add(1, [f"{sentence}{hidden if self.hides_values else reason}"])

    def displayable(self, row: Row) -> Row:
        """Returns a row as sentences may show it."""
        return {name: _name_instead(name, value) for name, value in row.items()} if self.hides_values else row

    def report_rows(self, rows: pa.Table | list[Row], sentence: str | Callable[[Row], str], count: int = 0) -> None:
        """Adds every row as a violation, or `count` violations of which `rows` are the first.

        `sentence` describes a row; as a text it is a template for `fill`.
        """
        describe: Callable[[Row], str] = partial(fill, sentence) if isinstance(sentence, str) else sentence
        examples = rows[:EXAMPLES_OF_EACH]
        examples = examples if isinstance(examples, list) else examples.to_pylist()
        self._add(count or len(rows), map(describe, map(self.displayable, examples)))

    def _add(self, count: int, sentences: Iterable[str]) -> None:
        self.violation_count += count
        self.violations = [*self.violations, *sentences][:_EXAMPLES]


def _name_instead(name: str, value: Any) -> Any:
    is_of_event = name in _IDS or (isinstance(value, (str, bytes)) and name not in _OWN_TEXTS)
    return f"({name})" if is_of_event else value


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome for every invariant of a warehouse."""

    warehouse: str
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no invariant is violated."""
        return not any(finding.violation_count for finding in self.findings)


class _Template(Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        name, _, noun = format_spec.partition(" ")
        if name == "count":
            return f"null {noun}s" if value is None else counted(value, noun)
        return time_text(value) if name == "time" else super().format_field(value, format_spec)


def fill(template: str, row: Mapping[str, Any]) -> str:
    """Returns a template with the columns of a row in its braces.

    `{name:time}` formats milliseconds as a time, `{name:count row}` a count with its noun.
    """
    return _Template().vformat(template, (), row)


def time_text(milliseconds: int | None) -> str:
    """Returns milliseconds since 1970 as a time in UTC, `none` for None."""
    if milliseconds is None or milliseconds == rules.NO_WATERMARK:
        return "none"
    if not rules.EARLIEST_EVENT_MS <= abs(milliseconds) + 1 <= rules.LATEST_EVENT_MS:
        return f"{milliseconds} ms"
    text = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace(".000", "").replace("+00:00", "Z")
