"""The page of the architecture says what the build holds the code to."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

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
        names = re.findall(r"[a-z_]+", line) if line.rstrip().endswith("sketches") else [first[0]]
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


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", PAGE))))
def test_every_path_on_the_page_is_there(name: str) -> None:
    assert any((ROOT / "pipeline" / below / name).exists() for below in ("", "commands")), name
