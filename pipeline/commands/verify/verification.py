"""The outcome of a verification: its laws, what each looked at, and every breach."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

Row = dict[str, Any]
_EXAMPLES_OF_EACH: Final = 2
_EXAMPLES: Final = 8


@dataclass(frozen=True, slots=True)
class Breach:
    """One sentence that names the table, the place in it, what was found and what should be there."""

    law: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Law:
    """A law after it was looked into."""

    name: str
    looked_at: str
    broken: int
    """How many breaches there are in all."""
    breaches: tuple[Breach, ...]
    """A few of them."""
    told: tuple[str, ...]
    """Sentences on what is no breach: void rows, windows that are not published yet."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Every law of a warehouse."""

    warehouse: str
    laws: tuple[Law, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no law is broken."""
        return not any(law.broken for law in self.laws)

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """The breaches that are told, a few of each law."""
        return tuple(breach for law in self.laws for breach in law.breaches)


@dataclass(slots=True)
class Finding:
    """Collects what is known of a law while it is looked into."""

    law: str
    looked: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    sentences: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def look(self, number: int, what: str) -> None:
        """Notes that the law looked at so many of something."""
        self.looked[what] += number

    def tell(self, sentence: str) -> None:
        """Notes a sentence on something that is no breach."""
        self.told.append(sentence)

    def breach(self, sentence: str) -> None:
        """Counts one breach and notes its sentence."""
        self._add(1, [sentence])

    def each(self, rows: pa.Table, sentence: str | Callable[[Row], str]) -> None:
        """Counts every row as a breach; the first ones are told by a sentence that names their columns in braces."""
        say = (lambda row: sentence.format(**row)) if isinstance(sentence, str) else sentence
        self._add(len(rows), map(say, rows.slice(0, _EXAMPLES_OF_EACH).to_pylist()))

    def among(self, what: str, rows: pa.Table, sentence: Callable[[Row], str]) -> None:
        """Counts breaches among the things that were looked at; rows are such as `sql.examples` asks for."""
        first = rows.slice(0, 1).to_pylist()
        for row in first:
            self.look(row["looked"], what)
            self._add(row["wrong"], map(sentence, rows.slice(0, min(row["wrong"], _EXAMPLES_OF_EACH)).to_pylist()))

    def _add(self, number: int, sentences: Iterable[str]) -> None:
        self.broken += number
        self.sentences += sentences

    def done(self) -> Law:
        """Returns the law as it was found."""
        looked_at = ", ".join(f"{number:,} {what}" for what, number in self.looked.items())
        breaches = tuple(Breach(self.law, sentence) for sentence in self.sentences[:_EXAMPLES])
        return Law(self.law, looked_at or "nothing", self.broken, breaches, tuple(self.told))
