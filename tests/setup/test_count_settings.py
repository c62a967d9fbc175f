"""The settings of count windows: whether they tumble or slide."""

from pathlib import Path

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.count import Counts, CountWindows, SlidingCounts
from tidemark.pipeline.tables.opening import report_to_json


@pytest.mark.parametrize("slide", ["0", "1000000000000001", "9" * 5000, "-1", "1.5", "true"])
def test_a_slide_of_no_possible_number_of_events_is_refused(slide: str) -> None:
    with pytest.raises(SetUpError, match=r"window\.slide: .*(must be at least 1 event, and at most|is not a duration)"):
        parsed_settings("--window.count", "5", f"--window.slide={slide}")


@pytest.mark.parametrize(
    ("slide", "windows"),
    [
        ("", Counts(5)),
        ("slide = 5", Counts(5)),
        ("slide = 2", SlidingCounts(5, 2)),
        ('slide = "2"', SlidingCounts(5, 2)),
    ],
)
def test_a_count_tumbles_unless_its_slide_is_less(slide: str, windows: CountWindows, tmp_path: Path) -> None:
    config = tmp_path / "tidemark.toml"
    config.write_text(f"[window]\ncount = 5\n{slide}")
    assert parsed_settings("--config", str(config)).policy().reports[0].windows == windows


def test_the_stored_definition_of_counts_that_tumble_has_no_slide() -> None:
    assert report_to_json(Report("pairs", Counts(2), 0))["windows"] == {"kind": "counts", "size": 2}
