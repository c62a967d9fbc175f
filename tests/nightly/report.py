"""The report of `make nightly`, in Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.nightly.parts import Part
from tests.nightly.results import Result, lasted
from tests.support.evidence import Run


@dataclass(frozen=True)
class Night:
    """All parts of one run, and where it runs."""

    run: Run
    machine: str
    seed: int
    hours: float
    parts: Sequence[Part]


def report(night: Night, results: Sequence[Result]) -> str:
    """Returns the report; parts that have no result yet are listed, too."""
    in_turn = sum(result.seconds for result in results if not result.part.is_beside)
    seconds = max([in_turn, *(result.seconds for result in results if result.part.is_beside)])
    passed = sum(result.verdict == "passed" for result in results)
    head = (
        "# Nightly run\n",
        f"{night.run}, `TESTS_SEED={night.seed}`, on {night.machine}.\n",
        f"{passed} of {len(night.parts)} parts passed, in {lasted(seconds)} of {night.hours:g} h.\n",
        "| part | verdict | ran | time | command |",
        "|---|---|---|---|---|",
    )
    waiting = [part for part in night.parts if part not in [result.part for result in results]]
    rows = [_row(result) for result in results] + [f"| {part.name} | did not run | | | |" for part in waiting]
    return "\n".join([*head, *rows, *_failures(results)]) + "\n"


def _row(result: Result) -> str:
    found = result.found
    ran = f"{'an unknown number of' if found.count is None else f'{found.count:,}'} {result.part.counts}"
    ran += f", {found.skipped} skipped" if found.skipped else ""
    ran += "" if found.covered_percent is None else f", {found.covered_percent} % covered"
    command = " ".join(result.arguments)
    return f"| {result.part.name} | {result.verdict} | {ran} | {lasted(result.seconds)} | `{command}` |"


def _failures(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        if result.failures:
            yield f"\n## {result.part.name}: {len(result.failures)} failed\n"
            yield f"The log is `{result.part.name}.log`.\n"
            yield from (f"- {name}\n  `{command}`" for name, command in result.failures.items())
