"""A table that was copied earlier or later than the others: a start repairs the warehouse or refuses it."""

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.simulation import judge, rules
from tests.simulation.events import LATE, MINUTE, NOON
from tests.simulation.model import Model
from tests.simulation.rules import Rules
from tests.simulation.verbs import violations
from tests.simulation.world import Process
from tests.simulation.writers import Stage
from tidemark.pipeline.errors import SetUpError

pytestmark = pytest.mark.slow
TABLES = ("ledger", "panes", "dead_letters", "event_ids", "page_views", "visits")
RULES = Rules((rules.LENIENT, rules.VISITS), deduplicates=True)
REFUSED = "Its tables were copied or restored at different times"


def service(warehouse: Path, now: int = NOON) -> Process:
    return Process(Stage(now), str(warehouse), LATE, RULES, has_upkeep=True)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copies of a warehouse: `early` and `late` in its first epoch, `after` in its second."""
    folder = tmp_path_factory.mktemp("copies")
    warehouse, made = folder / "warehouse", dict[str, Path]()

    def copy(name: str) -> None:
        made[name] = Path(shutil.copytree(warehouse, folder / name))

    first = service(warehouse).open()
    first.take(4)
    copy("early")
    first.take(4)
    first.take(3)
    copy("late")
    second = service(warehouse).open()
    second.take(2)
    copy("after")
    return made


def read_to_the_end(warehouse: Path) -> None:
    """Starts, reads the rest of the topic, and compares every table with the model."""
    process = service(warehouse, NOON + 60 * MINUTE).open()
    while not process.is_done:
        process.take(4)
    expected = Model(LATE, dict.fromkeys(range(9), RULES)).replay(judge.ledger_of(str(warehouse)))
    assert not [*judge.table_findings(str(warehouse), expected, RULES, {})]
    assert not violations(str(warehouse))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("base", "other"), [("late", "early"), ("late", "after")])
def test_one_table_of_another_copy_is_repaired_or_refused(
    copies: dict[str, Path], tmp_path: Path, name: str, base: str, other: str
) -> None:
    mixed = Path(shutil.copytree(copies[base], tmp_path / "mixed"))
    shutil.rmtree(mixed / name)
    shutil.copytree(copies[other] / name, mixed / name)
    reported = violations(str(mixed))
    with suppress(SetUpError):
        read_to_the_end(mixed)
        return
    assert reported
    with pytest.raises(SetUpError, match=REFUSED):
        service(mixed).open()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("ledger", "it has tables, but no ledger"), ("panes", "panes is missing"), ("visits", "visits is missing")],
)
def test_a_missing_table_is_refused(copies: dict[str, Path], tmp_path: Path, name: str, sentence: str) -> None:
    lacking = Path(shutil.copytree(copies["late"], tmp_path / "lacking", ignore=shutil.ignore_patterns(name)))
    with pytest.raises(SetUpError, match=sentence):
        service(lacking).open()


def test_tables_that_were_copied_after_the_ledger_and_before_a_publication_are_repaired(tmp_path: Path) -> None:
    warehouse, copy = tmp_path / "warehouse", tmp_path / "copy"
    running = service(warehouse).open()
    running.take(4, publishes=False)
    shutil.copytree(warehouse / "ledger", copy / "ledger")
    running.take(2, publishes=False)
    shutil.copytree(warehouse, copy, ignore=shutil.ignore_patterns("ledger"), dirs_exist_ok=True)
    assert not violations(str(copy))
    read_to_the_end(copy)


def test_a_log_that_was_copied_after_its_files_is_refused(copies: dict[str, Path], tmp_path: Path) -> None:
    """The start would roll the last commits back, as after a power cut."""
    mixed = Path(shutil.copytree(copies["late"], tmp_path / "mixed"))
    shutil.rmtree(mixed / "panes")
    shutil.copytree(copies["early"] / "panes", mixed / "panes")
    shutil.copytree(copies["late"] / "panes" / "_delta_log", mixed / "panes" / "_delta_log", dirs_exist_ok=True)
    with pytest.raises(SetUpError, match=REFUSED):
        service(mixed).open()
    assert violations(str(mixed))
