"""The verbs of the command line as writers. What Spark decodes of dead letters is done by hand."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pyarrow as pa

from tests.simulation.judge import ledger_of, rows_of, transactions
from tests.simulation.marks import Marks
from tests.simulation.rules import Rules
from tests.simulation.stand_ins import policy_of, put
from tests.simulation.world import Process
from tests.simulation.writers import current
from tidemark.pipeline import columns as c
from tidemark.pipeline.amend import late_corrections
from tidemark.pipeline.amend import watermark_reset as reset_verb
from tidemark.pipeline.amend.erase import pane_erasure
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.errors import SetUpError, TransientError
from tidemark.pipeline.event_time.certain import certain_watermark
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.dead_letter_reader import BELONGS
from tidemark.pipeline.results.retention import remove_by_age
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import CORRECTIONS, PANES
from tidemark.pipeline.tables.transactions import CLOSED_APP, DROPPED_APP, FORGOTTEN_BEFORE_APP, MERGED_APP, REMOVED_APP
from tidemark.pipeline.verifier.invariants import verify

_TRIES: Final = 4
_FINISH: Final = pane_erasure.finish


@dataclass(frozen=True)
class _Rows:
    """Rows as a data frame gives them."""

    rows: list[dict[str, Any]]

    def createDataFrame(self, table: pa.Table) -> list[dict[str, Any]]:  # noqa: N802 - as Spark names it
        found: list[dict[str, Any]] = table.to_pylist()
        return found

    def toArrow(self) -> Any:  # noqa: N802 - as Spark names it
        return SimpleNamespace(to_pylist=lambda: self.rows)


def _late_events(dead: list[Any], _: object, policy: Any, *__: object, **___: object) -> list[dict[str, Any]]:
    found = []
    for row in dead:
        user, time = row["value"].decode().split()
        same = {name: row[name] for name in (c.REASON, c.TOPIC, c.PARTITION, c.OFFSET, c.WATERMARK, c.BATCH)}
        event = {c.USER_ID: user, c.PAGE_URL: "/", c.EVENT_TYPE: "visit", c.TIME: int(time), c.CHECK: int(Check.PASSED)}
        found.append({**same, **event, **{f"{BELONGS}{report.name}": True for report in policy.reports}})
    return found


def without_spark() -> None:
    """Lets `correct` and `replay` read dead letters by hand, and notes when an erasure looks for rows that are left."""
    put(late_corrections, spark_session=lambda _: _Rows([]), schemas_of=lambda _: None)
    put(late_corrections, policy_of=lambda settings, _: settings.policy())
    put(late_corrections, late_events=_late_events, _filtered=lambda events, _: _Rows(events))
    put(pane_erasure, finish=_finish_and_look)


def _finish_and_look(*args: Any) -> None:
    """The end of a pass of an erasure, which then looks for rows that came meanwhile."""
    _FINISH(*args)
    if writer := current():
        writer.looks.append(len(writer.stage.trace))


def _settings(warehouse: str, rules: Rules) -> Any:
    real = Settings(warehouse=warehouse)
    given = {name: getattr(real, name) for name in ("warehouse", "privacy", "schemas", "deduplicate")}
    return SimpleNamespace(**given, policy=lambda: policy_of(rules), spark=None)


def correct(warehouse: str, rules: Rules) -> None:
    """`tidemark correct`."""
    apply_corrections(_settings(warehouse, rules), LetterSelection(reasons=("too_late", "partly_late")))


def replay(warehouse: str, rules: Rules) -> None:
    """`tidemark replay` of malformed and future records, which the rules of now accept."""
    apply_corrections(
        _settings(warehouse, rules), LetterSelection(reasons=("malformed", "future"), is_judged_again=True)
    )


def erase(warehouse: str, user: str) -> None:
    """`tidemark erase`; files that may be in use are left to another run, which is no failure."""
    try:
        erase_person(Settings(warehouse=warehouse), user)
    except TransientError as error:
        if "the tables are done" not in str(error):
            raise


def reset(warehouse: str, to: int | None, now: int) -> None:
    """`tidemark reset-watermark`, by a clock that shows `now`; to `to`, or to the earliest time that it allows."""
    put(reset_verb, now_ms=lambda: now)
    reset_verb.reset(warehouse, to, "a wrong clock", confirmed=True)


def was_reset(warehouse: str) -> bool:
    """Whether the ledger has an epoch that put the watermark back."""
    return any(row["opening"] and Opening.from_text(row["opening"]).reset for row in ledger_of(warehouse))


def irrevocable(warehouse: str, rules: Rules) -> int:
    """The latest end of a window that no reset may open again, by what the tables record."""
    marks = [transactions(folder) for folder in Path(warehouse).iterdir() if (folder / "_delta_log").is_dir()]
    ends = [row[c.WINDOW_END_MS] for row in rows_of(warehouse, CORRECTIONS.name)]
    for app, mark in (item for each in marks for item in each.items()):
        if app == FORGOTTEN_BEFORE_APP:
            ends.append(mark + max(shape.size + shape.lateness_ms for shape in rules.shapes))
        elif app.startswith((MERGED_APP, REMOVED_APP)):
            ends.append(mark)
    return max(ends, default=0)


def age(process: Process) -> None:
    """The step of upkeep that removes rows by age."""
    resources, progress = process.resources, process.progress
    certain = certain_watermark(progress.frontier, progress.policy.strategy.delay_ms, process.now)
    remove_by_age(process.warehouse, resources.retention, progress.policy, certain, progress.batch_id, process.now)


def removed(warehouse: str, rules: Rules) -> dict[str, int]:
    """How far retention removed rows, by table."""
    marks = {shape.name: transactions(Path(warehouse) / shape.name).get(REMOVED_APP, 0) for shape in rules.shapes}
    return {name: mark for name, mark in marks.items() if mark}


def marks_of(warehouse: str, rules: Rules) -> Marks:
    """The marks of a warehouse."""
    names = [shape.name for shape in rules.shapes]
    panes = transactions(Path(warehouse) / PANES.name)
    return Marks(
        {name: transactions(Path(warehouse) / name).get(CLOSED_APP, 0) for name in names},
        {name: panes.get(f"{DROPPED_APP}{name}", 0) for name in names},
        {name: panes.get(f"{MERGED_APP}{name}", 0) for name in names},
        {
            (row["report"], (row["partition"], row["offset"])): row["closed_until"]
            for row in rows_of(warehouse, CORRECTIONS.name)
        },
    )


def violations(warehouse: str) -> list[str]:
    """The violations that `tidemark verify` reports."""
    return [
        f"verify: {finding.name}: {violation}"
        for finding in verify(warehouse).findings
        for violation in finding.violations
    ]


def look(warehouse: str) -> None:
    """A reader that runs `tidemark verify` while others write. Raises AssertionError where it reports a violation."""
    found = violations(warehouse)
    assert not found, f"verify, while others wrote: {found[0]}"


Verb = Callable[[], object]


def patiently(verb: Verb, *, may_refuse: bool = False) -> Verb:
    """An operator who repeats a verb that failed; one that `may_refuse` has nothing to do then."""

    def work() -> None:
        for left in reversed(range(_TRIES)):
            try:
                verb()
                return
            except SetUpError:
                if may_refuse:
                    return
                raise
            except (OSError, TransientError):
                if not left:
                    raise

    return work


def rules_by_epoch(warehouse: str, known: dict[frozenset[str], Rules]) -> dict[int, Rules]:
    """The settings of each epoch, from its row in the ledger."""
    found = dict[int, Rules]()
    for row in ledger_of(warehouse):
        if row["opening"]:
            policy = Opening.from_text(row["opening"]).policy
            names = frozenset(report.name for report in policy.reports)
            found[row["epoch"]] = replace(
                known[names], has_totals=policy.totals is not None, deduplicates=policy.deduplicate
            )
    return found
