"""Detects a wrong --format before the position moves past lines that another format could read."""

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from tidemark.command_line.counts import counted
from tidemark.producers.access_log.formats import name_of_format
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.errors import SetUpError

_FIRST_LINES: Final = 100
"""If a run starts with this many lines, all malformed, its format is wrong."""
_LATER_LINES: Final = 10
"""This many malformed lines in sequence, later in a run, are a warning: single lines may be broken."""
_ADVICE: Final = "correct --format or --json-fields, or move files in an older format away; the position has not moved"
_SHOWN: Final = 300
_NOT_COUNTED: Final = (LineOutcome.TOO_LONG, LineOutcome.UNDECODABLE)
"""Clients can cause such lines in some formats, so they do not indicate a wrong format."""
_UNREAD: Final = (*_NOT_COUNTED, LineOutcome.MALFORMED)
_MISREAD: Final = {
    LineOutcome.NO_REQUEST: "have no request line of HTTP",
    LineOutcome.OTHER_METHOD: "have another method than GET",
    LineOutcome.OTHER_SITE: "are requests for whole URLs of another site: if it is yours, name it by --site",
    LineOutcome.REDIRECT: "have a status of 300 to 399",
    LineOutcome.CLIENT_ERROR: "have a status of 400 to 499",
    LineOutcome.SERVER_ERROR: "have a status of 500 or more",
    LineOutcome.OTHER_STATUS: "have another status than 200",
    LineOutcome.NO_AGENT: "have no user agent",
}
"""Reasons that a field has if the format names another field for it, or if the log is not one of a site."""


class MalformedLine(NamedTuple):
    """A line that is not in the format, and why."""

    text: str
    reason: str


class FormatCheck:
    """Decides whether the position after a chunk may be committed: only after a line in the format."""

    def __init__(self, form: str, warn: Callable[[str], None], *, is_first: bool = True) -> None:
        """`form` is the format for messages; `warn` is called once for each sequence of malformed lines.

        `is_first` is false for a run that has read lines before: its format was right then.
        """
        self._form, self._warn, self._is_first = form, warn, is_first
        self._rejected = Counter[LineOutcome]()
        self._has_read, self._has_warned, self._malformed = False, False, 0
        self._example: MalformedLine | None = None

    def accepts(self, outcomes: Counter[LineOutcome], example: MalformedLine | None) -> bool:
        """Returns whether the position after a chunk with these outcomes may be committed.

        `example` is the latest malformed line. Raises SetUpError if all of the first lines are malformed, or are not
        visits for one other reason.
        """
        if self._is_first:
            self._check_reasons(outcomes)
        malformed = outcomes[LineOutcome.MALFORMED]
        if outcomes.total() > malformed + sum(outcomes[outcome] for outcome in _NOT_COUNTED):
            self._has_read, self._has_warned, self._malformed = True, False, 0
        elif malformed:
            self._add(malformed, example)
        return self._has_read or not self._malformed

    def end(self) -> None:
        """Raises SetUpError if lines were read, but no line in the format."""
        if self._malformed and not self._has_read:
            raise SetUpError(self._message(_ADVICE))

    def _check_reasons(self, outcomes: Counter[LineOutcome]) -> None:
        self._rejected += Counter({outcome: outcomes[outcome] for outcome in outcomes if outcome not in _UNREAD})
        reason = next(iter(self._rejected), None)
        self._is_first = reason is None or (len(self._rejected) == 1 and reason in _MISREAD)
        if self._is_first and reason and self._rejected[reason] >= _FIRST_LINES:
            lines = counted(self._rejected[reason], "line")
            raise SetUpError(
                f"the first {lines} {_MISREAD[reason]} ({reason.value}); correct --format or --json-fields, or skip "
                "these lines by --since"
            )

    def _add(self, malformed: int, example: MalformedLine | None) -> None:
        self._malformed, self._example = self._malformed + malformed, example
        if self._malformed >= _FIRST_LINES:
            self.end()
        if not self._has_warned and (self._malformed >= _LATER_LINES or not self._has_read):
            self._has_warned = True
            self._warn(self._message("if others follow, correct --format"))

    def _message(self, advice: str) -> str:
        text, reason = self._example or MalformedLine("", "")
        place = "last" if self._has_read else "first"
        lines = f"the {place} {self._malformed:,} lines are not"
        if self._malformed == 1:
            lines = f"the {place} line is not"
        other = name_of_format(text)
        hint = f"; it is in the format {other}" if other and other != self._form else ""
        if other is None and text.startswith("{"):
            hint = "; it is JSON: use the format json, and name its fields by --json-fields"
        return f"{lines} in the format {self._form} ({reason[:_SHOWN]}){hint}; {advice}; the line: {text[:_SHOWN]}"
