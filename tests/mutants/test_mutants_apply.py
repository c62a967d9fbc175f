"""Each mutant still applies, and its tests exist; docs/evidence.md is what the stored verdicts make."""

import ast
import re
from pathlib import Path

import pytest

from tests.mutants.catalogue import ROOT, DoesNotApply, Mutant, mutants
from tests.mutants.copied_tree import CopiedTree
from tests.mutants.failure_plugin import ASSERTION, kind_of
from tests.mutants.hunt import TIERS, kept, tier_of
from tests.mutants.page import HEADING, section
from tests.support import evidence
from tidemark.producers.errors import SetUpError

MUTANTS = [*mutants().values()]


def test_there_are_many_each_with_a_rule_and_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 60
    assert len({mutant.about for mutant in MUTANTS}) == len(MUTANTS)
    assert [mutant.name for mutant in MUTANTS if not mutant.about.endswith(".") or not mutant.tests] == []


def test_each_text_occurs_once_in_its_file_and_is_changed() -> None:
    wrong = {m.name: count for m in MUTANTS if (count := (ROOT / m.file).read_text().count(m.find)) != 1}
    assert wrong == {}
    assert [mutant.name for mutant in MUTANTS if mutant.find == mutant.replace] == []


@pytest.mark.slow
def test_each_mutant_of_python_is_python(tmp_path: Path) -> None:
    for mutant in MUTANTS:
        if mutant.file.endswith(".py"):
            path = tmp_path / mutant.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((ROOT / mutant.file).read_bytes())
            mutant.apply(tmp_path)
            ast.parse(path.read_text(), f"{mutant.name}: {mutant.file}")


def test_a_text_that_is_gone_is_reported(tmp_path: Path) -> None:
    mutant = Mutant("area", "name", "file.py", "find", "replace", "A rule.", ["test"])
    (tmp_path / "file.py").write_text("find find")
    with pytest.raises(DoesNotApply, match=r"name: file\.py has 2 times 'find', expected 1"):
        mutant.apply(tmp_path)


@pytest.mark.slow
def test_a_copy_runs_its_own_code(tmp_path: Path) -> None:
    tree = CopiedTree(tmp_path)
    test = tree.path / "tests" / "event_time" / "test_of_the_copy.py"
    test.write_text("import tidemark.pipeline.errors as e\ndef test_it():\n    assert e.__file__ == ''\n")
    failure = tree.first_failure("tests/event_time/test_of_the_copy.py")
    assert failure is not None
    assert failure.kind == ASSERTION
    (tree.path / "pipeline" / "errors.py").write_text("raise ValueError\n")
    assert "ValueError" in str(tree.first_failure("tests/event_time/test_of_the_copy.py"))


def test_each_test_that_is_named_exists() -> None:
    named = {test for mutant in MUTANTS for test in mutant.tests}
    assert [test for test in sorted(named) if not exists(test)] == []


def exists(test: str) -> bool:
    file, _, function = test.partition("[")[0].partition("::")
    path = ROOT / file
    return path.is_file() and re.search(rf"^def {function}", path.read_text(), re.MULTILINE) is not None


def test_a_failure_is_an_assertion_or_an_error_of_the_product() -> None:
    failed: list[BaseException] = [
        AssertionError(),
        DoesNotApply(),
        ExceptionGroup("", [ValueError(), AssertionError()]),
        SetUpError("the product has noticed"),
    ]
    assert [kind_of(error) for error in failed] == [ASSERTION, "DoesNotApply", ASSERTION, ASSERTION]
    assert kind_of(NameError()) == "NameError"


def test_the_tier_of_a_test_is_what_runs_it_first() -> None:
    marked = (["parametrize"], ["slow"], ["jvm", "long"], ["long", "nightly"])
    assert tuple(map(tier_of, marked)) == TIERS


def test_the_section_is_made_of_the_stored_verdicts() -> None:
    written = evidence.section(evidence.EVIDENCE.read_text(), HEADING)
    assert written == section(kept()), 'run: make mutants ARGS="--page"'


def test_no_tier_is_later_than_before() -> None:
    both = {name: (each["before"].tier, each["after"].tier) for name, each in kept().items() if len(each) == 2}
    order = {tier: index for index, tier in enumerate(TIERS)}
    later = {name: tiers for name, tiers in both.items() if order.get(tiers[1], 9) > order.get(tiers[0], 9)}
    assert later == {}
