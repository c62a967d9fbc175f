"""Verbs over a warehouse whose events mean harm to a terminal."""

from pathlib import Path

import pytest

from tests.dashboard.scene import future, rejected, story
from tidemark.pipeline.cli import main

pytestmark = pytest.mark.slow
USER = "[/x][link=http://x]y[/link]\x1b[31m\x9b\u202e"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """Its folder, and the offset of a dead letter of the user."""
    scene = story(tmp_path_factory.mktemp("verbs"))
    offset = scene.position
    rejected(scene, future(scene, USER))
    return str(scene.warehouse), offset


@pytest.mark.parametrize(
    "verb",
    ["dead-letters list", "dead-letters hours", "dead-letters show --partition 0 --offset {}", "status", "verify"],
)
def test_a_verb_shows_text_and_does_nothing_else(
    warehouse: tuple[str, int], verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    folder, offset = warehouse
    assert main([*verb.format(offset).split(), f"--warehouse={folder}"]) in (0, 1)
    said = capsys.readouterr()
    assert all(char.isprintable() or char == "\n" for char in said.out + said.err)
    if verb.startswith("dead-letters") and "hours" not in verb:
        assert "[/x][link=http://x]y[/link]\\x1b[31m\\x9b\\u202e" in said.out


def test_no_folder_that_a_person_names_acts_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", f"--warehouse={tmp_path}/[bold]\x1b[31m"]) == 2
    assert "[bold]\\x1b[31m" in capsys.readouterr().err
