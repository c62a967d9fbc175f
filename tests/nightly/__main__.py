"""`make nightly`: everything that takes long, each part as a process with a log, and one report.

Exit code 0 if all parts passed, 1 if one failed or was cut off, 2 for an unknown part.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.nightly.machine import machine
from tests.nightly.parts import Part, chosen, share_minutes
from tests.nightly.report import Night, report
from tests.nightly.results import Result, lasted
from tests.nightly.run import GRACE_S, results_of
from tests.support.evidence import ROOT, run_now
from tests.support.seeds import SEED

FOLDER: Final = ROOT / "build" / "nightly"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the parts, and writes the report after each."""
    asked = _parser().parse_args(arguments)
    try:
        parts = chosen(asked.only)
    except ValueError as error:
        sys.stderr.write(f"nightly: {error}\n")
        return 2
    if asked.list:
        sys.stdout.writelines(_lines(parts, asked.hours * 60))
        return 0
    return play(Night(run_now(), machine(), SEED, asked.hours, parts), FOLDER)


def play(night: Night, folder: Path, grace_s: float = GRACE_S) -> int:
    """Runs the parts of a night with logs and the report in `folder`; returns the exit code.

    A part that is cut off has `grace_s` to remove its files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, results = folder / "report.md", list[Result]()
    path.write_text(report(night, results))
    for result in results_of(night, folder, grace_s):
        results.append(result)
        path.write_text(report(night, results))
        sys.stdout.write(f"{result.part.name}: {result.verdict.replace('*', '')} ({lasted(result.seconds)})\n")
        sys.stdout.flush()
    sys.stdout.write(f"see {path}\n")
    return int(any(result.verdict != "passed" for result in results))


def _lines(parts: list[Part], minutes: float) -> list[str]:
    """Returns a line for each part, with its share if no part ends before it has used its own."""
    return [
        f"{part.name:12} {lasted(60 * share_minutes(part, [other for other in parts if other != part], minutes)):12}"
        f" {part.counts}: {' '.join(part.command)}\n"
        for part in parts
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make nightly", description=__doc__)
    parser.add_argument("--hours", type=float, default=8, help="for all parts together (default 8)")
    parser.add_argument("--only", default="", metavar="PART,...", help="some parts; all by default")
    parser.add_argument("--list", action="store_true", help="list the parts and their shares, and run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
