"""Runs the tests of each mutant, and stores by which test and in which tier it is found."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.mutants.catalogue import HERE, DoesNotApply, Mutant
from tests.mutants.copied_tree import CopiedTree

KEPT: Final = HERE / "kept.json"
"""The last verdict on each mutant, from which docs/mutants.md is made."""
TIERS: Final = ("`make test-fast`", "`make test`", "CI", "`make nightly`")
"""What runs a test, the most frequent first."""
NOT_FOUND: Final = "not found"
NOT_APPLICABLE: Final = "does not apply"


def tier_of(markers: Sequence[str]) -> str:
    """Returns the first of `TIERS` that runs a test with these markers.

    >>> tier_of(["parametrize"]), tier_of(["slow"]), tier_of(["jvm", "long"]), tier_of(["long", "nightly"])
    ('`make test-fast`', '`make test`', 'CI', '`make nightly`')
    """
    names = {*markers}
    if "nightly" in names:
        return TIERS[3]
    if "long" in names:
        return TIERS[2]
    return TIERS[1] if names & {"jvm", "broker", "slow"} else TIERS[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: the tier that found it, or why not, and the first test that failed."""

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
                if failure.is_found and tier in tiers:
                    return Verdict(tier, failure.test)
                broken = broken or f": {failure.kind}"
    except DoesNotApply as error:
        return Verdict(NOT_APPLICABLE, str(error))
    return Verdict(f"{NOT_FOUND}{broken}")


def kept() -> dict[str, dict[str, Verdict]]:
    """Returns the stored verdicts by mutant: `after` of this tree, `before` of the tests before they were cut."""
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {name: {when: Verdict(**each) for when, each in both.items()} for name, both in stored.items()}


def keep(when: str, verdicts: dict[str, Verdict], path: Path = KEPT) -> None:
    """Stores verdicts as `after` or `before`, in addition to those of other mutants."""
    stored = kept()
    for name, verdict in verdicts.items():
        stored.setdefault(name, {})[when] = verdict
    plain = {name: {when: asdict(each) for when, each in sorted(stored[name].items())} for name in sorted(stored)}
    path.write_text(json.dumps(plain, indent=1) + "\n")
