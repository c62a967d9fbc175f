"""Writes a section of docs/evidence.md from the list of mutants and the stored verdicts on them."""

from collections import Counter, defaultdict
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
run. The table has the command that runs the first such test: `make test-fast`, `make test`, CI (`.ci/run`) or
`make nightly`. [`tests/mutants`](../tests/mutants) has a file for each area, with the rule, the change and the tests of
each mutant, and [the test that found it](../tests/mutants/kept.json). `make mutants ARGS="--only fires-late"` judges
one, `ARGS="--tier test"` counts only what `make test` finds.
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
    found, others = (", ".join(f"{tier} {counts[tier]}" for tier in each) for each in (TIERS, _others(tiers)))
    return f"**{len(tiers)} mutants, found by {found}{'; ' * bool(others)}{others}.**"


def _table(tiers: Mapping[str, str]) -> Iterator[str]:
    yield "| area | found by | mutants |"
    yield "|---|---|---|"
    order = (*TIERS, *_others(tiers))
    areas = defaultdict[str, defaultdict[str, list[str]]](lambda: defaultdict(list))
    for name, mutant in mutants().items():
        areas[mutant.area][tiers[name]].append(f"`{name}`")
    for area, names in areas.items():
        yield from (f"| {area} | {tier} | {', '.join(names[tier])} |" for tier in order if names[tier])


def _others(tiers: Mapping[str, str]) -> list[str]:
    """Returns the verdicts on mutants that no test found."""
    return sorted({*tiers.values()} - {*TIERS})
