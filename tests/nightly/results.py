"""The result of a part, from its exit code, its log and its summary. Nothing here touches a process or a file."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.nightly.parts import Part, Source
from tests.support.summary import Summary

_OUTCOME: Final = re.compile(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+?) *$", re.MULTILINE)
_CUT_OFF: Final = "node down: keyboard-interrupt"
"""xdist calls the tests that ran then failed."""
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.+?)?)(?: - .*)?$", re.MULTILINE)
_CLOSING: Final = re.compile(r"^=+ (.*\d+ \w+.*) in \d.*=$", re.MULTILINE)
_COVERED: Final = re.compile(r"^TOTAL .* (\d+)%$", re.MULTILINE)
_COUNTED: Final = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


@dataclass(frozen=True)
class Found:
    """The number of things that a part ran, and its failures."""

    count: int | None = None
    """None if it is unknown."""
    skipped: int = 0
    covered_percent: int | None = None
    """Statements and branches that ran, if the part measures them."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The command that repeats each failure, by its name."""


def found_by(part: Part, log: str, summary: Summary | None, seed: int) -> Found:
    """Returns what a part ran, also if it was cut off. `log` is all that it printed."""
    if part.source is Source.SUMMARY:
        return Found(summary.count, failures=summary.failures) if summary else Found()
    log = log.partition(_CUT_OFF)[0]
    outcomes = {name: outcome for outcome, name in _OUTCOME.findall(log)}
    counts = Counter(outcomes.values()) if outcomes else _closing_counts(log)
    names = [name for name, outcome in outcomes.items() if outcome in ("FAILED", "ERROR")]
    again = {name: f"TESTS_SEED={seed} {part.again.format(name=name)}" for name in [*names, *_FAILED.findall(log)]}
    skipped = counts.pop("SKIPPED", 0)
    covered = _COVERED.search(log)
    return Found(counts.total() or None, skipped, int(covered[1]) if covered else None, again)


def _closing_counts(log: str) -> Counter[str]:
    """Adds up the closing lines of all runs of pytest in a log."""
    counts = Counter[str]()
    for line in _CLOSING.findall(log):
        for count, outcome in _COUNTED.findall(line):
            counts[outcome.upper()] += int(count)
    return counts


@dataclass(frozen=True)
class Result:
    """A part that ran."""

    part: Part
    arguments: tuple[str, ...]
    code: int | None
    """Its exit code; None if it was cut off."""
    seconds: float
    found: Found

    @property
    def failures(self) -> Mapping[str, str]:
        """The command that repeats each failure; the part's own command if it failed and named no failure."""
        if self.found.failures or self.code is None or (self.code == 0 and self.found.count):
            return self.found.failures
        return {f"exit code {self.code}" if self.code else "nothing ran": shlex.join(self.arguments)}

    @property
    def verdict(self) -> str:
        """`passed` only for a part that ended by itself, ran something, and found nothing."""
        cut_off = f"cut off after {lasted(self.seconds)}" if self.code is None else ""
        if self.failures:
            return f"**failed**, {cut_off}" if cut_off else "**failed**"
        return cut_off or "passed"


def lasted(seconds: float) -> str:
    """Returns a duration for readers.

    >>> lasted(12.3), lasted(600), lasted(7380)
    ('12 s', '10 min', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
