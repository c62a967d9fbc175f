"""Records of erased users balance like any others, and a dead letter with data of an erased user is a violation."""

from pathlib import Path

import pytest

from tests.verify.conftest import Copy
from tests.verify.plant import OF_DEAD_LETTERS, OF_LEDGER, E, alter, change, drop, notes, sentences

pytestmark = pytest.mark.slow
LAST = {"batch": E + 5}
BLANK = {"reason": "erased", "user_id": None, "key": None, "value": None, "event_time": None}


@pytest.fixture
def warehouse(copy: Copy) -> Path:
    """The event that came too late was of an erased user."""
    warehouse = copy("page_views")
    alter(warehouse, "ledger", change({**LAST, "too_late": 1}, too_late=0, erased=1))
    alter(warehouse, "dead_letters", change({**LAST, "reason": "too_late"}, **BLANK))
    return warehouse


def test_a_record_of_an_erased_user_has_a_verdict_and_a_dead_letter(warehouse: Path) -> None:
    assert notes(warehouse) == ""


@pytest.mark.parametrize("left", [{"user_id": "dan"}, {"key": b"dan"}, {"value": b"dan"}, {"event_time": 1}])
def test_data_that_is_left_of_the_record_is_reported(warehouse: Path, left: dict[str, object]) -> None:
    alter(warehouse, "dead_letters", change(LAST, **left))
    assert "of t is of an erased user, but is not empty" in sentences(warehouse, OF_DEAD_LETTERS)


def test_a_missing_dead_letter_is_reported(warehouse: Path) -> None:
    alter(warehouse, "dead_letters", drop(**LAST))
    reported = sentences(warehouse, OF_DEAD_LETTERS)
    assert "dead_letters: batch 1000000005, partition 0 has 0 that are erased, but the ledger 1" in reported


def test_a_record_without_a_verdict_is_reported_whatever_was_erased(warehouse: Path) -> None:
    alter(warehouse, "ledger", change({**LAST, "erased": 1}, erased=2))
    assert "ledger: batch 1000000005, partition 0 has 2 records and 3 verdicts" in sentences(warehouse, OF_LEDGER)
