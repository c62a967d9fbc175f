"""Runs the tests of each mutant, and stores by which test and in which tier it is found."""

import fcntl
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from tests.mutants.catalogue import HERE, ROOT, DoesNotApply, Mutant
from tests.mutants.copied_tree import CopiedTree
from tests.mutants.failure_plugin import ASSERTION

KEPT: Final = HERE / "kept.json"
"""The last verdict on each mutant, from which a section of docs/evidence.md is made."""
LOCK: Final = ROOT / ".venv" / ".mutants"
TIERS: Final = ("`make test-fast`", "`make test`", "CI", "`make nightly`")
"""The commands that run tests, the most frequent first."""
NOT_FOUND: Final = "not found"
NOT_APPLICABLE: Final = "does not apply"


def tier_of(markers: Sequence[str]) -> str:
    """Returns the first of `TIERS` that runs a test with these markers.

    A long test that takes turns always runs in CI once it is the first finder of a mutant.

    >>> tier_of(["parametrize"]), tier_of(["slow"]), tier_of(["jvm", "long"]), tier_of(["long", "nightly"])
    ('`make test-fast`', '`make test`', 'CI', '`make nightly`')
    >>> tier_of(["long", "in_turn", "nightly"])
    'CI'
    """
    names = {*markers}
    if "nightly" in names and "in_turn" not in names:
        return TIERS[3]
    if "long" in names:
        return TIERS[2]
    return TIERS[1] if names & {"jvm", "broker", "slow"} else TIERS[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a mutant: the tier that found it, or why not, and the first test that failed."""

    tier: str
    test: str = ""

    @property
    def is_found(self) -> bool:
        """Whether a test found the mutant."""
        return self.tier in TIERS


def judge(mutant: Mutant, tree: CopiedTree, tiers: Sequence[str] = TIERS) -> Verdict:
    """Runs the tests of a mutant in order until one fails in one of the `tiers`."""
    broken = ""
    try:
        with tree.mutated(mutant):
            for test in filter(tree.has, mutant.tests):
                failure = tree.first_failure(test)
                if failure is None:
                    continue
                tier = tier_of(failure.markers)
                if failure.kind in (ASSERTION, mutant.error) and tier in tiers:
                    return Verdict(tier, failure.test)
                broken = broken or f": {failure.kind}"
    except DoesNotApply as error:
        return Verdict(NOT_APPLICABLE, str(error))
    return Verdict(f"{NOT_FOUND}{broken}")


def by_git(commit: str, name: str) -> Verdict | None:
    """Returns the stored verdict of a mutant if the test that found it was at `commit` what it is now; else None."""
    verdict = kept().get(name, {}).get("after")
    if verdict is None or not verdict.is_found:
        return None
    file, _, function = verdict.test.partition("[")[0].partition("::")
    shown = subprocess.run(["git", "show", f"{commit}:{file}"], cwd=ROOT, capture_output=True, text=True, check=False)
    before, now = (source_of(function, text) for text in (shown.stdout, (ROOT / file).read_text()))
    return verdict if before == now else None


def source_of(function: str, text: str) -> str:
    r"""Returns the source of a function in a module, without its decorators; empty if the module does not have it.

    >>> source_of("two", "def one() -> int:\n    return 1\n\n\ndef two() -> int:\n    return 2\n")
    'def two() -> int:\n    return 2\n'
    """
    match = re.search(rf"^def {function}\(.*\n(?:[ )].*\n|\n(?=[ \n]))*", text, re.MULTILINE)
    return match[0].rstrip() + "\n" if match else ""


def kept() -> dict[str, dict[str, Verdict]]:
    """Returns the stored verdicts by mutant: `after` of this tree, `before` of the tests before they were cut."""
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {name: {when: Verdict(**each) for when, each in both.items()} for name, both in stored.items()}


def first_finders() -> set[str]:
    """Returns the ids of the tests that are the first to find a mutant."""
    return {both["after"].test for both in kept().values() if "after" in both}


def keep(when: str, verdicts: Mapping[str, Verdict]) -> None:
    """Stores verdicts as `after` or `before`, in addition to those of other mutants."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # areas may be judged at once
        stored = kept()
        for name, verdict in verdicts.items():
            stored.setdefault(name, {})[when] = verdict
        plain = {name: {when: asdict(each) for when, each in sorted(stored[name].items())} for name in sorted(stored)}
        KEPT.write_text(json.dumps(plain, indent=1) + "\n")
