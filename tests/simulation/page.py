"""Writes a section of docs/evidence.md from complete searches of scenes; `kept.json` has the last search of each."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.simulation.scenes import SCENES
from tests.simulation.search import Search, Tally
from tests.support import evidence
from tests.support.evidence import Run

KEPT: Final = Path(__file__).with_name("kept.json")
HEADING: Final = "## Interleavings of writers"
_NUMBERS: Final = ("points", "plans", "runs", "states", "failing")
_SECTION: Final = f"""\
{HEADING}

`make simulate` runs the writers of a warehouse against each other: starts, a running service, its two threads, and the
verbs that change tables. Each is the project's own code on real Delta tables in memory; only Spark's fold and Kafka are
replaced, by a list of events for each partition. A writer stops before each call of delta-rs (a *point*), and a *plan*
says at which point of the first writer which fault strikes while the others run to their end:

| plan | what happens at the point |
|---|---|
| `none` | nothing: the writer is paused until the others have finished |
| `refused` | the store refuses the call |
| `lost` | the store does it, and the answer is lost |
| `late` | the call is reported as failed; its commit lands before a later call, if its version is still free |
| `ends` | the process ends |
| `clock` | the clock jumps by a day |
| `two` | a switch to the second writer, and one back, of two threads |

A service then reads to the end, operators repeat their verbs, another service starts, and the tables must equal a
reference model that knows the ledger's offsets and the list of events alone: results, dead letters, totals,
corrections, erasures, event ids, and the live view of each report. Offsets join, nothing uncommitted stays, and
`tidemark verify` reports a violation exactly when the tables are wrong. Plans that must end alike are played once.

{{total}}

A scene is some writers, of which the first meets the faults, with a kind of report and events. `grid`, `slides`,
`sessions` and `counts` are windows, `totals` has `user_totals`, `unique` deduplicates. `mixed`, `visits` and `people`
have records of every verdict, with the report of `grid`, `sessions` and `totals`. `aged` has a retention, `wrong` a
wrong clock, `long` a long session, `crowd` an erased user among others; a start adds a report in `more` and drops it
in `fewer`. Scenes that are newer than their first search are missing.

The searches, each of one kind of plan in one scene, ran at
{{runs}}

| kind | runs | writers; **bold**: with failing plans |
|---|---:|---|
{{rows}}

`make simulate ARGS="start-start.grid:none:7"` plays one plan and prints its story. Two switches between writers that
are not threads are thousands of plans in each scene: `make nightly` plays some of them, others each night.

`make simulate ARGS="--lives 100"` plays random *lives*, and `make nightly` as many as it has time for: one service
after the other on one warehouse, and operators who reset the watermark, correct, replay and erase between its batches.
A seed decides the events, some of them late, repeated, rejected or of a wrong clock, the reports, the settings and the
steps. All tables and live views must equal the model. It takes the watermark from the ledger, so strategies and
idleness are proved by transcripts and not by lives. After a reset no start takes a report out, no reset follows a
correction, and no row is old enough to be removed: scenes play that.

A life takes two to three seconds of CPU time, so two cores play about 50 in a minute, and not a thousand: each step
writes real Delta tables, and in the end the model, the live views and `tidemark verify` read all of them. Without
tables lives would be faster, and blind to what the tables do. CI plays six of new seeds.
"""


def write(tally: Tally, run: Run) -> None:
    """Stores a search of a scene in place of the last search of its kind, and writes the section."""
    kept = kept_searches()
    kept.setdefault(tally.scene, {})[tally.kind] = {**asdict(run), **_numbers(tally)}
    kept = {scene: kept[scene] for scene in SCENES if scene in kept}
    KEPT.write_text(_as_json(kept))
    evidence.write_section(section(kept))


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


def section(kept: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Returns the section of docs/evidence.md from the last search of each scene and kind of plan."""
    runs, writers, total = defaultdict[str, int](int), defaultdict[str, list[str]](list), defaultdict[str, int](int)
    for scene, kinds in kept.items():
        sums = {name: sum(numbers[name] for numbers in kinds.values()) for name in _NUMBERS}
        sums["points"] = max(numbers["points"] for numbers in kinds.values())
        for name, number in sums.items():
            total[name] += number
        names, _, kind = scene.partition(".")
        runs[kind] += sums["runs"]
        writers[kind].append(f"**`{names}`**" if sums["failing"] else f"`{names}`")
    rows = (f"| `{kind}` | {runs[kind]:,} | {', '.join(names)} |" for kind, names in writers.items())
    return _SECTION.format(total=_sentence(len(kept), total), runs="\n".join(_runs(kept)), rows="\n".join(rows))


def _runs(kept: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yields a line for each commit at which scenes were searched, the oldest first."""
    runs = Counter(Run(search["date"], search["commit"]) for kinds in kept.values() for search in kinds.values())
    for run, count in sorted(runs.items()):
        yield f"- {run}: {count:,}"


def _sentence(scenes: int, total: Mapping[str, int]) -> str:
    return (
        f"**{scenes} scenes, {total['points']:,} points, {total['plans']:,} plans, {total['runs']:,} runs, of which "
        f"{total['states']:,} ended in a state of their own; {total['failing']:,} plans failed.**"
    )
