"""The judge of live views, after a wrong clock moved the watermark and a reset lowered it.

Read first: ann now +6 s, bob now +10 h. Then a reset to now; read last: ann now +18 s.
"""

from pathlib import Path

import pytest

from tests.simulation.events import MINUTE, NOON, events
from tests.simulation.judge import ledger_of
from tests.simulation.live_judge import live_findings, live_rows
from tests.simulation.model import Model
from tests.simulation.mutations import MUTATIONS
from tests.simulation.rules import Rules, Shape
from tests.simulation.world import Process
from tests.simulation.writers import Stage
from tidemark.pipeline.amend import watermark_reset
from tidemark.pipeline.results import live_view

pytestmark = pytest.mark.slow
TOPIC = (events("0.1ann 600bob* 0.3ann"),)
RULES = Rules((Shape("page_views", "grid", MINUTE, MINUTE),))
OPEN = ("ann", NOON, NOON + MINUTE, 2, "open")


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(watermark_reset, "now_ms", lambda: NOON)
    service = Process(Stage(NOON), str(tmp_path), TOPIC, RULES).open()
    service.take(1)
    service.take(1)
    watermark_reset.reset(str(tmp_path), NOON, "a wrong clock", confirmed=True)
    again = Process(Stage(NOON), str(tmp_path), TOPIC, RULES).open()
    again.take(1)
    return str(tmp_path)


def test_a_window_that_a_reset_opens_again_is_open_in_the_live_view(warehouse: str) -> None:
    ahead = ("bob", NOON + 600 * MINUTE, NOON + 601 * MINUTE, 1, "open")
    assert sorted(live_rows(warehouse, "page_views")) == [OPEN, ahead]


def test_the_judge_finds_a_live_view_by_the_highest_watermark(warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Model(TOPIC, dict.fromkeys(range(9), RULES)).replay(ledger_of(warehouse))
    assert OPEN in expected.live["page_views"]
    assert not [*live_findings(warehouse, expected, {})]
    change = MUTATIONS["watermark of now"].patches["tidemark.pipeline.results.live_view:_LIVE_SQL"]
    monkeypatch.setattr(live_view, "_LIVE_SQL", change(vars(live_view)["_LIVE_SQL"]))
    assert [*live_findings(warehouse, expected, {})]
