"""Writes a section of docs/evidence.md from the list of mutants and the stored verdicts on them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.mutants.catalogue import mutants
from tests.mutants.hunt import TIERS, Verdict, kept
from tests.support import evidence

HEADING: Final = "## Mutants"
_UNKNOWN: Final = Verdict("not judged yet")
_HEAD: Final = f"""\
{HEADING}

`make mutants` applies small changes to a copy of the code, one at a time. Each breaks one rule, and a test must find
it: by a failed assertion, or by an error that the product raises on purpose, and not because the code merely does not
run. The table counts them by the command that runs the first such test. [`tests/mutants`](../tests/mutants) has a file
for each area, with the rule, the change and the tests of each mutant, and [the test that found
it](../tests/mutants/kept.json). `make mutants ARGS="--only fires-late"` judges one, `ARGS="--tier test"` counts only
what `make test` finds.
"""


def write() -> None:
    """Writes the section."""
    evidence.write_section(section(kept()))


def section(verdicts: Mapping[str, Mapping[str, Verdict]]) -> str:
    """Returns the section of docs/evidence.md from verdicts by mutant and by `before` and `after`."""
    tiers = {name: verdicts.get(name, {}).get("after", _UNKNOWN).tier for name in mutants()}
    return "\n".join((_HEAD, _summary(tiers), "", *_table(tiers), ""))


def _summary(tiers: Mapping[str, str]) -> str:
    counts = Counter(tiers.values())
    found = ", ".join(f"{tier} {counts[tier]}" for tier in TIERS)
    others = "".join(f"; {tier}: {', '.join(sorted(n for n in tiers if tiers[n] == tier))}" for tier in _others(tiers))
    return f"**{len(tiers)} mutants, found by {found}{others}.**"


def _table(tiers: Mapping[str, str]) -> Iterator[str]:
    counts = Counter((mutant.area, tiers[name]) for name, mutant in mutants().items())
    yield f"| area | {' | '.join(TIERS)} |"
    yield f"|---|{'---:|' * len(TIERS)}"
    for area in dict.fromkeys(mutant.area for mutant in mutants().values()):
        yield f"| {area} | {' | '.join(str(counts[area, tier]) for tier in TIERS)} |"


def _others(tiers: Mapping[str, str]) -> list[str]:
    """Returns the verdicts on mutants that no test found."""
    return sorted({*tiers.values()} - {*TIERS})
