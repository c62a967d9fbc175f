"""Writes docs/simulation.md from what complete searches of scenes went through; `kept.json` has the last of each."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.simulation.scenes import SCENES
from tests.simulation.search import KINDS, Search, Tally
from tests.support import evidence
from tests.support.evidence import Run

KEPT: Final = Path(__file__).with_name("kept.json")
PAGE: Final = Path(__file__).parents[2] / "docs" / "simulation.md"
_NUMBERS: Final = ("points", "plans", "runs", "states", "failing")
_PAGE: Final = """\
# Every interleaving of two writers

`make simulate` runs the writers of a warehouse against each other: starts, a running service, its two threads, and the
verbs that change tables. Each is the project's own code on a real Delta warehouse in memory; only Spark's fold and
Kafka are replaced, by a list of events for each partition. A writer stops before each call of delta-rs (a *point*), and
a *plan* says at which point of the first writer which fault strikes while the others run to their end:

| plan | what happens at the point |
|---|---|
| `none` | nothing: the writer is paused until the others have finished |
| `refused` | the store refuses the call |
| `lost` | the store does it, and the answer is lost |
| `late` | the call is reported as failed; its commit lands before a later call, if its version is still free |
| `ends` | the process ends |
| `clock` | the clock jumps by a day |
| `two` | a switch to the second writer, and one back: all plans of two threads, and some of two other writers |

A service then reads to the end, operators repeat their verbs, another service starts, and the tables must equal a
reference model that knows the ledger's offsets and the list of events alone: results, dead letters, totals,
corrections, erasures, event ids, and the live view of each report with its open windows. Scenes with a reset are
compared again after each start, when windows that the reset opened are still open. Offsets join, the ledger's log has
the order of its batches, nothing uncommitted stays, and `tidemark verify` reports a violation exactly when something is
wrong with the tables. Plans that differ by a read of what no other writer writes end alike, so one of them is played;
runs that end in equal tables are judged once (*states*).

This page is made by `make simulate ARGS=--page`, from the last search of each scene. The name of a scene is its writers
and its kind of report. `make simulate ARGS="start-start.grid:none:7"` plays one plan and prints its story.
Scenes that are newer than their first search are not in the table yet. Two switches between writers that are not
threads are thousands of plans in each scene. `make simulate ARGS="--kinds pairs --minutes 30"` plays some of them,
others in each run, and `make nightly` does so.

## Lives
`make simulate ARGS="--lives 100"` plays random *lives*: one service after the other on one warehouse, and what
operators do between its batches. A seed decides everything: the events of one or two partitions, some of them late,
repeated, rejected or of a wrong clock; the reports with their windows, also cumulative ones and those of a time zone's
calendar; strategy and lag of the watermark; idle partitions; deduplication and totals; and four to thirteen steps:

| step | what happens |
|---|---|
| `batches` | the service takes one to three batches |
| `tick`, `clock` | a minute passes for the service; the clock of all hosts jumps |
| `start`, `other_start` | a service starts, with the same or with other settings: it may take a report out or back |
| `end` | the end of the input |
| `reset` | `reset-watermark` to the clock, and a start |
| `correct`, `replay`, `erase` | the verb; they are repeated in the end |

After each reset the live views, and in the end all tables and live views, must equal the model. It takes the
watermark from the ledger, so strategies and idleness are proved by transcripts and not by lives. After a reset no start
takes a report out: the model has no rows without panes, which a wrong clock published and the start leaves. No reset
follows a correction, because the model adds late events by what is final in the end; scenes play that order.

The code of the service and the Delta tables are the project's own. Only handles of tables are used again, because
delta-rs reads the whole log for each new handle. `make simulate ARGS="life:1234"` repeats a life, and `make nightly`
plays lives for its share of the night.

## The searches of scenes
{total}

The searches, each of one kind of plan in one scene, ran at
{runs}

| scene | {heads} |
|---|{rules}
{rows}
"""


def write_page(tally: Tally, run: Run) -> None:
    """Stores a search of a scene instead of the last one of its kind, and writes the page."""
    kept = kept_searches()
    kept.setdefault(tally.scene, {})[tally.kind] = {**asdict(run), **_numbers(tally)}
    kept = {scene: kept[scene] for scene in SCENES if scene in kept}
    KEPT.write_text(_as_json(kept))
    evidence.write(PAGE, page(kept))


def kept_searches() -> dict[str, dict[str, dict[str, Any]]]:
    """Returns the last search of each scene and kind: its commit, its date and its numbers."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def oldest_first(searches: Iterable[Search], stored: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Search]:
    """Returns searches by the day of their last run in `stored`; those that never ran come first."""
    return sorted(searches, key=lambda search: str(stored.get(search.scene, {}).get(search.kind, {}).get("date", "")))


def _as_json(kept: Mapping[str, Mapping[str, object]]) -> str:
    """Returns a line for each search, so that a difference shows which ran again."""
    scenes = []
    for scene, kinds in kept.items():
        lines = ",\n".join(f"  {json.dumps(kind)}: {json.dumps(search)}" for kind, search in kinds.items())
        scenes.append(f" {json.dumps(scene)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(scenes) + "\n}\n"


def _numbers(tally: Tally) -> dict[str, int]:
    plain = {**asdict(tally), "failing": len(tally.failures)}
    return {name: plain[name] for name in _NUMBERS}


def page(kept: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Returns the text of the page."""
    rows, total = list[str](), defaultdict[str, int](int)
    for scene, kinds in kept.items():
        sums = {name: sum(numbers[name] for numbers in kinds.values()) for name in _NUMBERS}
        sums["points"] = max(numbers["points"] for numbers in kinds.values())
        for name, number in sums.items():
            total[name] += number
        rows.append(f"| `{scene}` | {_cells(sums, kinds)} |")
    heads = " | ".join((*_NUMBERS, *(f"`{kind}`" for kind in KINDS)))
    return _PAGE.format(
        total=_sentence(len(kept), total),
        runs="\n".join(_runs(kept)),
        heads=heads,
        rules="---:|" * (5 + len(KINDS)),
        rows="\n".join(rows),
    )


def _runs(kept: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yields a line for each commit at which scenes were searched, the oldest first."""
    runs = Counter(Run(search["date"], search["commit"]) for kinds in kept.values() for search in kinds.values())
    for run, count in sorted(runs.items()):
        yield f"- {run}: {count:,}"


def _cells(sums: Mapping[str, int], kinds: Mapping[str, Any]) -> str:
    runs = (f"{kinds[kind]['runs']:,}" if kinds.get(kind, {}).get("runs") else "" for kind in KINDS)
    return " | ".join((*(f"{number:,}" for number in sums.values()), *runs))


def _sentence(scenes: int, total: Mapping[str, int]) -> str:
    return (
        f"{scenes} scenes, {total['points']:,} points, {total['plans']:,} plans, {total['runs']:,} runs, of which "
        f"{total['states']:,} ended in a state of their own; {total['failing']:,} plans failed."
    )
