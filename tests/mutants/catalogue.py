"""The list of mutants: small changes of the code, each of which takes one protection away."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]


class DoesNotApply(Exception):
    """The text that a mutant replaces does not occur exactly once in its file."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one text in one file, and the tests that must fail because of it."""

    area: str
    name: str
    file: str
    find: str
    """A text that occurs exactly once in the file."""
    replace: str
    about: str
    """The rule that the mutant breaks, as a sentence."""
    tests: Sequence[str]
    """Test ids or files, the cheapest first."""
    error: str = ""
    """The type of the error by which the test fails, if it is no assertion and the rule protects from this error."""

    def apply(self, tree: Path) -> None:
        """Changes the file in a copy of the tree. Raises DoesNotApply."""
        path = tree / self.file
        text = path.read_text() if path.is_file() else ""
        if (count := text.count(self.find)) != 1:
            raise DoesNotApply(f"{self.name}: {self.file} has {count} times {self.find!r}, expected 1")
        path.write_text(text.replace(self.find, self.replace))


def mutants() -> Mapping[str, Mutant]:
    """Returns all mutants by name, in the order of the files `tests/mutants/*.toml`."""
    listed = [
        Mutant(path.stem.replace("_", " "), name, **fields)
        for path in sorted(HERE.glob("*.toml"))
        for name, fields in tomllib.loads(path.read_text()).items()
    ]
    return {mutant.name: mutant for mutant in listed}
