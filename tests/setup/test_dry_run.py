"""`correct` and `dead-letters replay` name what they add, and a dry run creates no table."""

from pathlib import Path

import pytest

from tidemark.pipeline.amend.correction_run import title_of
from tidemark.pipeline.amend.late_corrections import LetterSelection
from tidemark.pipeline.results.corrections import CorrectedEvent, Corrections, known_corrections


def test_corrections_are_looked_up_without_creating_their_table(tmp_path: Path) -> None:
    assert known_corrections(str(tmp_path)) == set()
    assert [*tmp_path.iterdir()] == []
    row = {"report": "a", "topic": "t", "partition": 1, "offset": 2}
    assert Corrections(str(tmp_path)).append_next([row])
    assert known_corrections(str(tmp_path)) == {CorrectedEvent("a", "t", 1, 2)}


@pytest.mark.parametrize(
    ("is_judged_again", "dry_run", "title"),
    [
        (False, False, "Too-late events, added to closed windows"),
        (True, False, "Rejected events that are valid today, added to closed windows"),
        (True, True, "Rejected events that are valid today, would be added to closed windows"),
    ],
)
def test_the_title_names_the_events_that_a_verb_adds(is_judged_again: bool, dry_run: bool, title: str) -> None:
    assert title_of(LetterSelection(is_judged_again=is_judged_again), dry_run=dry_run) == title
