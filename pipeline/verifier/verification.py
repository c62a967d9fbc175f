"""The outcome of a verification: its laws, what each looked at, and every breach."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa

from pipeline.verifier.wording import Row, filled

EXAMPLES_OF_EACH: Final = 2
"""As many breaches of one kind are put in sentences."""
_EXAMPLES: Final = 8


@dataclass(slots=True)
class Finding:
    """What is known of a law, collected while it is looked into."""

    name: str
    looked: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    """How many breaches there are in all."""
    breaches: list[str] = field(default_factory=list)
    """A few of them, each one sentence that names the table, the place in it, what was found and what should be."""
    told: list[str] = field(default_factory=list)
    """Sentences on what is no breach: void rows, windows that are not published yet."""

    @property
    def looked_at(self) -> str:
        """How many of what the law looked at."""
        return ", ".join(f"{number:,} {what}" for what, number in self.looked.items()) or "nothing"

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
        """Counts every row as a breach; the first ones are told by a sentence, which may be one for `filled`."""
        say: Callable[[Row], str] = partial(filled, sentence) if isinstance(sentence, str) else sentence
        self._add(len(rows), map(say, rows.slice(0, EXAMPLES_OF_EACH).to_pylist()))

    def among(self, what: str, rows: pa.Table, sentence: Callable[[Row], str]) -> None:
        """Counts breaches among the things that were looked at; rows are such as `sql.examples` asks for."""
        for first in rows.slice(0, 1).to_pylist():
            self.look(first["looked"], what)
            self._add(first["wrong"], map(sentence, rows.slice(0, first["wrong"]).to_pylist()))

    def _add(self, number: int, sentences: Iterable[str]) -> None:
        self.broken += number
        self.breaches = [*self.breaches, *sentences][:_EXAMPLES]


@dataclass(frozen=True, slots=True)
class Verification:
    """Every law of a warehouse, after it was looked into."""

    warehouse: str
    laws: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no law is broken."""
        return not any(law.broken for law in self.laws)
