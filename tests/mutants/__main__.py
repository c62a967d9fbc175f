"""Applies each mutant of `tests/mutants/*.toml` to a copy of the repository, and runs the tests that must find it."""

import argparse
import math
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.catalogue import Mutant, mutants
from tests.mutants.copied_tree import CopiedTree
from tests.mutants.hunt import TIERS, Verdict, by_git, judge, keep
from tests.mutants.page import write
from tests.support.seeds import SEED
from tests.support.summary import Summary

_SHORT = {tier.strip("`").removeprefix("make ").removeprefix("test-"): tier for tier in TIERS}


def main() -> int:
    """Judges what is asked for; returns 1 if a mutant is not found."""
    asked = _arguments()
    if asked.page:
        write()
        return 0
    chosen = _chosen(asked.only.split(",") if asked.only else [], asked.areas.split(",") if asked.areas else [])
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        tree = CopiedTree(folder, asked.at)
        if asked.baseline and not _passes(tree, chosen):
            return 1
        tiers = TIERS[: list(_SHORT).index(asked.tier) + 1]
        verdicts, summary = dict[str, Verdict](), Summary()
        until = time.monotonic() + 60 * asked.at_most
        for mutant in chosen if math.isinf(until) else random.Random(SEED).sample(chosen, len(chosen)):
            if time.monotonic() > until:
                break
            known = by_git(asked.at, mutant.name) if asked.at else None
            if asked.by_git and known is None:
                continue
            verdict = verdicts[mutant.name] = known or judge(mutant, tree, tiers)
            summary.count = len(verdicts)
            if not verdict.is_found:
                summary.failures[mutant.name] = f'make mutants ARGS="--only {mutant.name}"'
            summary.write()
            _say(f"{mutant.name}: {verdict.tier} {verdict.test}")
            if asked.keep:
                keep("before" if asked.at else "after", {mutant.name: verdict})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    missed = [name for name, verdict in verdicts.items() if not verdict.is_found]
    found = f"{len(verdicts) - len(missed)} of {len(verdicts)} mutants are found"
    _say(f"{found}; {len(chosen) - len(verdicts)} not judged; not found: {', '.join(missed) or '-'}")
    return int(bool(missed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="names of mutants, separated by commas; all by default")
    parser.add_argument("--areas", default="", help="areas, separated by commas: names of the files")
    parser.add_argument("--tier", default="nightly", choices=[*_SHORT], help="count what is found up to this tier")
    parser.add_argument("--at", default="", help="run the tests of this commit instead of those of the working tree")
    parser.add_argument("--at-most", type=float, default=math.inf, metavar="MINUTES", help="judge a random sample")
    parser.add_argument(
        "--by-git", action="store_true", help="with --at: run nothing, only look which tests are as now"
    )
    parser.add_argument("--baseline", action="store_true", help="first check that the tests pass without a mutant")
    parser.add_argument("--keep", action="store_true", help="store the verdicts for docs/evidence.md")
    parser.add_argument("--page", action="store_true", help="only write the stored verdicts into docs/evidence.md")
    return parser.parse_args()


def _chosen(names: Sequence[str], areas: Sequence[str]) -> list[Mutant]:
    listed = mutants()
    if unknown := {*names} - {*listed}:
        raise SystemExit(f"there are no mutants {', '.join(sorted(unknown))}: their names are in tests/mutants/*.toml")
    by_name = [listed[name] for name in names] or [*listed.values()]
    return [mutant for mutant in by_name if not areas or mutant.area.replace(" ", "_") in areas]


def _passes(tree: CopiedTree, chosen: Sequence[Mutant]) -> bool:
    """Returns whether every test that is named passes without a mutant."""
    tests = dict.fromkeys(test for mutant in chosen for test in mutant.tests if tree.has(test))
    failures = [failure for test in tests if (failure := tree.first_failure(test))]
    for failure in failures:
        _say(f"fails without a mutant: {failure.test} ({failure.kind})")
    return not failures


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
