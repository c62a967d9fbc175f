"""Writes docs/mutants.md from the list of mutants and the stored verdicts on them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.mutants.catalogue import ROOT, mutants
from tests.mutants.hunt import TIERS, Verdict, kept

PAGE: Final = ROOT / "docs" / "mutants.md"
_UNKNOWN: Final = Verdict("not judged yet")
_HEAD: Final = """\
# Mutants: what the tests find

`make mutants` applies small changes to a copy of the code, one at a time. Each takes one protection away; the tables
name the rule and the first test that fails. A change counts as found only if a test fails by an assertion, or by an
error that the product raises on purpose, and not if the code merely does not run. The tier is what runs this test
first: `make test-fast`, `make test`, CI (`.ci/run`) or `make nightly`. *Before* is the tier of the tests of commit
b280e05b, before long tests were merged and cut; a mutant that a test of `make test-fast` finds that is newer than this
commit was not judged by the tests of then, because no tier is earlier.

The list is in [`tests/mutants`](../tests/mutants), one file for each area. A mutant is a text that occurs once in a
file, the text that replaces it, and the tests that must fail. `make mutants ARGS="--only fires-late"` judges one,
`ARGS="--tier test"` counts only what `make test` finds, and `ARGS="--keep"` stores the verdicts, of which
`ARGS="--page"` makes this page. [Decision 43](decisions/0043-a-list-of-mutants.md) has the reasons.
"""


def write_page() -> None:
    """Writes the page."""
    PAGE.write_text(page(kept()))


def page(verdicts: Mapping[str, Mapping[str, Verdict]]) -> str:
    """Returns the page of verdicts by mutant and by `before` and `after`."""
    return "\n".join((_HEAD, *_summary(verdicts), *_areas(verdicts)))


def _summary(verdicts: Mapping[str, Mapping[str, Verdict]]) -> Iterator[str]:
    yield "| found by | before | after |"
    yield "|---|---|---|"
    counts = [Counter(_of(verdicts, name, when).tier for name in mutants()) for when in ("before", "after")]
    for tier in dict.fromkeys((*TIERS, *counts[0], *counts[1])):
        yield f"| {tier} | {counts[0][tier]} | {counts[1][tier]} |"
    yield f"| all | {counts[0].total()} | {counts[1].total()} |"


def _areas(verdicts: Mapping[str, Mapping[str, Verdict]]) -> Iterator[str]:
    area = ""
    for name, mutant in mutants().items():
        if mutant.area != area:
            area = mutant.area
            yield f"\n## {area.capitalize()}\n"
            yield "| mutant | rule that it breaks | found by | before | after |"
            yield "|---|---|---|---|---|"
        before, after = (_of(verdicts, name, when) for when in ("before", "after"))
        yield f"| `{name}` | {mutant.about} | {_test(after)} | {before.tier} | {after.tier} |"
    yield ""


def _of(verdicts: Mapping[str, Mapping[str, Verdict]], name: str, when: str) -> Verdict:
    return verdicts.get(name, {}).get(when, _UNKNOWN)


def _test(verdict: Verdict) -> str:
    """Returns the file as a link and the function, without the parameters, which may be long."""
    file, _, function = verdict.test.partition("::")
    return f"[{file.removeprefix('tests/')}](../{file}) `{function.partition('[')[0]}`" if function else ""
