"""Compares the core's answer to a random case with the oracle's."""

from typing import Any
from zoneinfo import ZoneInfo

from tests.periods.oracle import Oracle
from tests.periods.oracle_bars import bars_of
from tests.periods.plain_store import PlainStore
from tests.periods.raw_case import raw_case
from tidemark.pipeline.reading.periods.figures import Figure
from tidemark.pipeline.reading.periods.period import Compare, period_of
from tidemark.pipeline.reading.periods.period_traffic import PeriodQuestion, traffic_of


def assert_equal_answers(seed: int) -> None:
    """Fails with the seed, and both answers, if the core and the oracle differ."""
    case, oracle = raw_case(seed), Oracle(raw_case(seed))
    store = PlainStore(case)
    period = period_of(case.period, ZoneInfo(case.zone), case.now)
    question = PeriodQuestion(period, Compare(case.compare), {"page_url": case.page} if case.page else {})
    traffic = traffic_of(question, store.sources, store, case.now)
    expected = {
        "visitors": oracle.visitors(case.page),
        "page_views": oracle.counts(False, case.page),
        "clicks": oracle.counts(True, case.page),
        **oracle.visits(),
    }
    about = f"TESTS_SEED case {seed}: {case.period} {case.compare} {case.zone} {case.page}"
    for name, wanted in expected.items():
        assert _plain(traffic.figures[name], wanted) == wanted, f"{about}, {name}"
    series = [
        (
            bar.start,
            bar.end,
            (bar.page_views, str(bar.coverage.state)),
            (bar.visitors, str(bar.of_visitors.state)),
        )
        for bar in traffic.series
    ]
    assert series == bars_of(oracle, case.page), about


def _plain(figure: Figure, wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns the parts of a figure that the oracle has."""
    coverage, compared = figure.coverage, figure.compared
    sides: Any = None
    if compared is not None:
        sides = (compared.own_end, compared.end, compared.own, compared.value, str(compared.state))
        sides = sides if compared.state != "unknown" else "unknown"
    every = {
        "value": figure.value,
        "state": str(coverage.state),
        "from": coverage.start,
        "until": coverage.until,
        "may_change_until": coverage.may_change_until,
        "compared": sides,
        "mean": figure.more.get("mean"),
    }
    return {name: every[name] for name in wanted}
