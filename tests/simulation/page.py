"""Writes docs/simulation.md from what complete searches of scenes went through; `kept.json` has the last of each."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.simulation.scenes import SCENES
from tests.simulation.search import KINDS, Tally

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
| `two` | two threads of a service: a switch to the second one, and one back |

A service then reads to the end, operators repeat their verbs, another service starts, and the tables must equal a
reference model that knows the ledger's offsets and the list of events alone: results, dead letters, totals,
corrections, erasures, event ids. Offsets join, the ledger's log has the order of its batches, nothing uncommitted
stays, and `tidemark verify` reports a violation exactly when something is wrong. Plans that differ by a read of what no
other writer writes end alike, so one of them is played; runs that end in equal tables are judged once (*states*).

This page is made by `make simulate ARGS=--page`, from the last search of each scene. The name of a scene is its writers
and its kind of report. `make simulate ARGS="start-start.grid:none:7"` plays one plan and prints its story.

{total}

| scene | {heads} |
|---|{rules}
{rows}
"""


def write_page(tallies: Iterable[Tally]) -> None:
    """Takes the searches into what is kept, and writes the page of it."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for tally in tallies:
        kept.setdefault(tally.scene, {})[tally.kind] = _numbers(tally)
    kept = {scene: kept[scene] for scene in SCENES if scene in kept}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(page(kept))


def _numbers(tally: Tally) -> dict[str, int]:
    plain = {**asdict(tally), "failing": len(tally.failures)}
    return {name: plain[name] for name in _NUMBERS}


def page(kept: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
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
        total=_sentence(len(kept), total), heads=heads, rules="---:|" * (5 + len(KINDS)), rows="\n".join(rows)
    )


def _cells(sums: Mapping[str, int], kinds: Mapping[str, Any]) -> str:
    runs = (f"{kinds[kind]['runs']:,}" if kinds.get(kind, {}).get("runs") else "" for kind in KINDS)
    return " | ".join((*(f"{number:,}" for number in sums.values()), *runs))


def _sentence(scenes: int, total: Mapping[str, int]) -> str:
    return (
        f"{scenes} scenes, {total['points']:,} points, {total['plans']:,} plans, {total['runs']:,} runs, of which "
        f"{total['states']:,} ended in a state of their own; {total['failing']:,} plans failed."
    )
