"""Files of rules: the act of a process at each call."""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.chaos.library import fault_library


class Action(StrEnum):
    """A rule does this when it strikes."""

    HOLD = "hold"
    """The call waits until it is released; then it is done."""
    FAIL = "fail"
    """The call is refused with an error."""
    LIE = "lie"
    """The call is done, and then an error is returned."""
    MARK = "mark"
    """Arms the rules that come after it, once the call is done; otherwise no effect."""
    LOG = "log"
    """The call's name and path are written down once it is done."""


@dataclass(frozen=True)
class Rule:
    """Strikes at the `nth` call of a kind on a path that matches; at each from then on where it is `lasting`."""

    name: str
    ops: str
    """Any of create, read, write, close, link, rename, unlink, fsync, mkdir, separated by commas; or `*`."""
    paths: str
    """Patterns of fnmatch below the root, with commas between; of a link or a rename it is the new path."""
    action: Action
    error: int = errno.EIO
    after: str = "-"
    """The rule that must have struck before this rule counts."""
    text: str = "-"
    """A text that the file must contain; for a link, the linked file."""
    nth: int = 1
    lasting: bool = False
    """Strikes again and again, until `Faults.end`."""

    def line(self, prefix: str) -> str:
        """Returns the line of the file, with prefixed names."""
        span = "always" if self.lasting else "once"
        after = self.after if self.after == "-" else prefix + self.after
        fields = (prefix + self.name, self.ops, self.paths, after, self.text, self.nth, self.action, self.error, span)
        return "\t".join(map(str, fields))


class Faults:
    """The rules of one process, and what they have done so far."""

    def __init__(self, folder: Path, root: Path) -> None:
        """`folder` is this process's alone; paths count from `root`, which need not exist yet."""
        self._folder, self._root, self._sets = folder, root.resolve(), 0
        folder.mkdir(parents=True)
        self.set([])

    @property
    def environment(self) -> Mapping[str, str]:
        """The process is started with these values."""
        values = {
            "LD_PRELOAD": fault_library(),
            "FAULTS_CONTROL": self._folder.absolute(),
            "FAULTS_ROOT": self._root,
        }
        return {name: str(value) for name, value in values.items()}

    def set(self, rules: Sequence[Rule]) -> None:
        """From the next call on these rules hold, and no others; names are those of these."""
        self._sets += 1
        unfinished = self._folder / "rules.unfinished"
        unfinished.write_text("".join(f"{rule.line(self._prefix)}\n" for rule in rules))
        unfinished.replace(self._folder / "rules")

    def struck(self, name: str) -> bool:
        """Whether a rule has done anything yet."""
        return self._file(name, "reached").exists()

    def go(self, name: str) -> None:
        """Releases the call that a rule holds."""
        self._file(name, "go").touch()

    def end(self, name: str) -> None:
        """A lasting rule lasts no longer."""
        self._file(name, "over").touch()

    def log(self, name: str) -> list[tuple[str, str]]:
        """The calls that a rule has written down: name and path, in order."""
        file = self._file(name, "log")
        lines = file.read_text().splitlines() if file.exists() else []
        return [(op, path) for op, path in (line.split("\t") for line in lines)]

    @property
    def _prefix(self) -> str:
        """A prefix of the names in the file: a rule that is set again has no strikes yet."""
        return f"{self._sets}-"

    def _file(self, name: str, kind: str) -> Path:
        return self._folder / f"{self._prefix}{name}.{kind}"
