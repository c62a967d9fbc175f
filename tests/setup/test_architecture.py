"""The page of the architecture says what the build holds the code to."""

import ast
import re
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

from tidemark.pipeline.cli import _VERBS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PICTURE = PAGE.split("```")[1]


def layers() -> list[set[str]]:
    """The rooms of the pipeline, floor by floor, from the top."""
    (contract,) = [one for one in CONTRACTS if one["type"] == "layers"]
    return [set(re.split(r" [|:] ", floor)) for floor in contract["layers"]]


def drawn() -> dict[str, int]:
    """The depth at which the picture has each room; the last line has several."""
    depths: dict[str, int] = {}
    for line in filter(None, PICTURE.splitlines()):
        first = re.search(r"[a-z_]+", line)
        assert first is not None, line
        names = re.findall(r"[a-z_]+", line) if first[0] == "columns" else [first[0]]
        depths |= dict.fromkeys(names, first.start())
    return depths


def test_every_room_is_drawn_and_has_its_paragraph() -> None:
    rooms = set.union(*layers())
    assert set(drawn()) == rooms
    assert {name for name in rooms if f"**{name}**" not in PAGE} == set()


def test_what_is_below_in_the_build_is_below_in_the_picture() -> None:
    depths, floors = drawn(), layers()
    for above, below in pairwise(floors):
        assert max(depths[name] for name in above) <= min(depths[name] for name in below)


def test_every_room_of_the_package_is_in_a_layer() -> None:
    found = {
        path.stem for path in (ROOT / "pipeline").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert found - {"__init__"} == set.union(*layers())


def test_every_path_on_the_page_is_there() -> None:
    for name in set(re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", PAGE)):
        folders = (ROOT, *(ROOT / "pipeline" / below for below in ("", "commands", "reading", "web", "amend")))
        assert any((folder / name).exists() for folder in folders), name


def modules() -> list[Path]:
    return [path for path in (ROOT / "pipeline").rglob("*.py") if path.name != "__init__.py"]


def test_file_names_are_unique() -> None:
    assert [name for name, count in Counter(path.name for path in modules()).items() if count > 1] == []


def test_class_names_are_unique() -> None:
    names = Counter(name for path in modules() for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_verb_is_in_the_contract_of_their_independence() -> None:
    (contract,) = [contract for contract in CONTRACTS if contract["name"] == "Verbs do not import one another"]
    assert set(contract["modules"]) == {path.partition(":")[0] for path, _ in _VERBS.values()}


ALLOWED = {
    *("columns", "errors"),
    *("event_time.batch", "event_time.dimensions", "event_time.field_measures", "event_time.policy"),
    *("event_time.reports", "event_time.rules"),
    "event_time.user_totals",
    *(
        f"event_time.windows.{kind}"
        for kind in ("calendar", "count", "cumulate", "grid", "kinds", "periodic", "session")
    ),
    *("tables.ledger", "tables.opening", "tables.schemas", "tables.transactions"),
}
"""Names, schemas and stored definitions: all that the verifier may share with what it verifies."""


def test_the_verifier_imports_definitions_only() -> None:
    found = set()
    for path in (ROOT / "pipeline" / "verifier").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("tidemark.pipeline."):
                package = (ROOT / str(node.module).replace(".", "/")).is_dir()
                found |= {f"{node.module}.{name.name}" for name in node.names} if package else {str(node.module)}
    names = {name.removeprefix("tidemark.pipeline.") for name in found}
    assert names >= ALLOWED
    assert {name for name in names if not name.startswith("verifier.") and name not in ALLOWED} == set()
