"""Where in the service's work a fault strikes. Each point is a call on a file: this table is all that knows which.

Paths are below the warehouse. delta-rs writes a file under a passing name (`...#1`) and then renames it, a log entry is
linked. `before` is a call that must have come first.
"""

from dataclasses import dataclass
from enum import Enum, auto

from tests.chaos.rules import Action, Rule


class Approach(Enum):
    """The service must do this for the point to be reached."""

    AT_WORK = auto()
    """The service takes batches."""
    START = auto()
    """It starts on a warehouse in which a killed life has left a void batch."""
    GROWN = auto()
    """It starts on a warehouse of closed panes and many small files, and tends them after its first batch."""
    CORRECT = auto()
    """`tidemark correct` runs at the same time."""


@dataclass(frozen=True)
class Call:
    """A call on a file; `text` is something that the file holds."""

    op: str
    paths: str
    text: str = "-"


@dataclass(frozen=True)
class Point:
    """A place to strike at."""

    name: str
    says: str
    at: Call
    before: Call | None = None
    approach: Approach = Approach.AT_WORK

    def rules(self, action: Action, error: int = 0) -> list[Rule]:
        """The rules under which something happens here once: rule `point`."""
        strike = Rule("point", self.at.op, self.at.paths, action, error, text=self.at.text)
        if self.before is None:
            return [strike]
        mark = Rule("before", self.before.op, self.before.paths, Action.MARK, text=self.before.text)
        return [mark, Rule(**{**vars(strike), "after": "before"})]


COMMIT = Call("link", "ledger/_delta_log/*.json")
AFTER_WRITES = Point(
    "after-writes", "all written ahead, nothing committed", Call("create", "ledger/part-*,ledger/*/part-*")
)
POINTS = (
    Point("after-fold", "folded, nothing written", Call("create", "dead_letters/*part-*,panes/*part-*")),
    Point(
        "between-writes",
        "written ahead in part",
        Call("create", "panes/*part-*"),
        before=Call("link", "dead_letters/_delta_log/*.json"),
    ),
    AFTER_WRITES,
    Point("in-commit", "the commit to the ledger", COMMIT),
    Point("before-publication", "committed, not published", Call("create", "page_views/*part-*"), before=COMMIT),
    Point("in-publication", "the commit to a report's table", Call("link", "page_views/_delta_log/*.json")),
    Point(
        "in-compaction",
        "compaction's commit to panes, by which those of final windows go",
        Call("link", "panes/_delta_log/*.json", text='"remove"'),
        approach=Approach.GROWN,
    ),
    Point(
        "in-upkeep",
        "the commit of a table's merged files",
        Call("link", "dead_letters/_delta_log/*.json", text='"dataChange":false'),
        approach=Approach.GROWN,
    ),
    Point(
        "in-correct",
        "a correction's commit to a report's table",
        Call("link", "page_views/_delta_log/*.json"),
        approach=Approach.CORRECT,
    ),
    Point(
        "in-cleaning",
        "a start, its epoch open: the commit that removes void rows",
        Call("link", "panes/_delta_log/*.json,dead_letters/_delta_log/*.json", text='"remove"'),
        before=COMMIT,
        approach=Approach.START,
    ),
)
