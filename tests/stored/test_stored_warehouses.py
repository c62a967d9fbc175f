"""Warehouses of every format, as the versions that made them left them, are read; newer formats are refused."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.unpack import unpack
from tests.verify.plant import Rows, alter
from tidemark.pipeline.cli import main
from tidemark.pipeline.tables.opening import FORMAT

pytestmark = pytest.mark.slow
STORED = sorted(Path(__file__).parent.glob("format-*.tar.xz"))
VERBS = [
    ["status"],
    ["verify"],
    ["live"],
    ["sql", "SELECT count(*) FROM page_views"],
    ["report", "--day", "2024-05-01", "--output", "day.html"],
    ["erase", "--user", "ann"],
    ["dead-letters", "list"],
]


@pytest.fixture
def unpacked(tmp_path: Path) -> Callable[[Path], Path]:
    def unpack_stored(archive: Path) -> Path:
        with tarfile.open(archive) as tar:
            unpack(tar, tmp_path)
        return tmp_path / archive.name.removesuffix(".tar.xz")

    return unpack_stored


def test_a_warehouse_of_each_format_is_stored() -> None:
    formats = {path.name.removesuffix(".tar.xz").split("-")[1] for path in STORED}
    assert formats == {str(number) for number in range(1, FORMAT + 1)}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("archive", STORED, ids=lambda path: path.name)
def test_every_verb_reads_it(
    archive: Path, verb: list[str], unpacked: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = unpacked(archive)
    monkeypatch.chdir(warehouse.parent)
    assert main([*verb, "--warehouse", str(warehouse)]) == 0


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_every_verb_refuses_a_newer_format(
    verb: list[str],
    unpacked: Callable[[Path], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    warehouse = unpacked(STORED[-1])
    monkeypatch.chdir(warehouse.parent)

    def newer(rows: Rows) -> Rows:
        for row in rows:
            if row["opening"]:
                changes = {"format": FORMAT + 1, "written_by": "9.8.7"}
                row["opening"] = json.dumps({**json.loads(str(row["opening"])), **changes})
        return rows

    alter(warehouse, "ledger", newer)
    assert main([*verb, "--warehouse", str(warehouse)]) == 2
    assert f"format {FORMAT + 1}, written by version 9.8.7" in capsys.readouterr().err
