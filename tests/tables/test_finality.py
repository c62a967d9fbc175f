"""When nothing that may still come can change what a too-late event adds."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.site import MINUTE, NOON, POLICY, REPORTS, Event, Site
from tidemark.pipeline.amend.finality import Finality
from tidemark.pipeline.tables.ledger import Ledger

pytestmark = pytest.mark.slow
SESSIONS = next(report for report in REPORTS if report.name == "sessions")
POLICY_OF_SESSIONS = replace(POLICY, reports=(SESSIONS,), totals=None)


#   minutes   1  3  6  9  12  15  18  21  24     watermark 24, final until 19, gap 5
#   ann       +--+--+--+--+---+---+---+---+-->   goes on until 29
#   in time is what comes after 14: it meets what ends at 14 or later, so only what ends by then is decided
@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_session_is_final_once_nothing_in_time_and_no_session_that_goes_on_meets_it(
    tmp_path: Path, *, is_compacted: bool
) -> None:
    site = Site(tmp_path, POLICY_OF_SESSIONS).open()
    site.batch(*map(Event, (1, 3, 6, 9, 12, 15, 18, 21, 24)))
    if is_compacted:
        site.compact()

    def holds(user: str, minute: float, now: float = 10**6) -> bool:
        finality = Finality.of(str(tmp_path), site.policy, Ledger(str(tmp_path)), NOON + round(now * MINUTE))
        time = Event(minute).time
        return finality.holds({"user_id": user}, SESSIONS, [(time, time + 5 * MINUTE)])

    assert not holds("ann", 4), "her session goes on"
    assert holds("bob", 4)
    assert holds("bob", 9)
    assert not holds("bob", 9.1), "bob may be in time at 14.1"
    assert not holds("bob", 9, now=18), "the clock has not come as far as the watermark"
    site.batch(Event(60, "cat")).batch(Event(61, "cat"))
    assert holds("ann", 4), "her session has ended"
