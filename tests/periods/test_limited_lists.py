"""Lists of a dimension with a `top`: an exact list is that of all values, and no number is too high."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.seeds import SEED, drawn
from tests.support.warehouse import rows
from tests.verify.site import MINUTE, POLICY, Event, Site
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.reading.periods.limited_lists import limited_columns, listed, listed_sql
from tidemark.pipeline.reading.periods.store import Top
from tidemark.pipeline.tables.query import rows_of

pytestmark = pytest.mark.slow
TUMBLING = Grid(10 * MINUTE, 10 * MINUTE)
LIMITED = Report("limited", TUMBLING, 0, ("plan",), dimensions=(Dimension("plan", path="plan", top=3),))
WHOLE = Report("whole", TUMBLING, 0, ("every",), dimensions=(Dimension("every", path="plan"),))
VALUES = ("a", "b", "", "d", None, "(other)", "g")


def list_of(warehouse: Path, most: int) -> Top:
    select = f"SELECT {', '.join(limited_columns('plan'))} FROM result"  # noqa: S608 - our own
    table = DeltaTable(str(warehouse / "limited"))
    return listed(rows_of(listed_sql(select, most, is_filtered=False), result=table), most)


def counted(warehouse: Path) -> list[tuple[str | None, dict[str, int]]]:
    """Returns all values with their numbers, the largest first."""
    views, clicks = Counter[Any](), Counter[Any]()
    for row in rows(warehouse, "whole"):
        views[row["every"]] += row["page_views"]
        clicks[row["every"]] += row["clicks"]
    order = sorted(views, key=lambda key: (-views[key], -clicks[key], key is None, key or ""))
    return [(key, {"page_views": views[key], "clicks": clicks[key]}) for key in order]


@pytest.mark.parametrize("seed", drawn(range(12), 3))
def test_an_exact_list_is_that_of_all_values(seed: int, tmp_path: Path) -> None:
    draw = Random(f"{SEED} {seed}")
    weights = [draw.choice([3, 9, 27]) ** number for number in range(len(VALUES))]
    site = Site(tmp_path, replace(POLICY, reports=(LIMITED, WHOLE), totals=None)).open()
    for window in range(draw.randint(1, 3)):
        hosts = draw.choices(VALUES, weights, k=draw.randint(1, 60))
        site.batch(*(Event(10 * window + draw.random() * 9, click=draw.random() < 0.2, host=host) for host in hosts))
    site.batch(Event(100, host="z"))
    truth = counted(tmp_path)
    numbers = dict(truth)
    for most in (1, 2, 3, 4, 10):
        found = list_of(tmp_path, most)
        if found.is_about:
            assert all(count <= numbers[key][name] for key, values in found.rows for name, count in values.items())
        else:
            assert found.rows == truth[:most]
        assert found.totals == {name: sum(values[name] for values in numbers.values()) for name in found.totals}
        assert len(found.rows) <= found.values <= len(truth)


def test_one_window_has_exact_lists_up_to_its_top_and_about_beyond(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=(LIMITED, WHOLE), totals=None)).open()
    hosts = ["a"] * 6 + ["b"] * 5 + [None] * 4 + ["d"] * 2 + ["g"]
    site.batch(*(Event(number / 4, host=host) for number, host in enumerate(hosts))).batch(Event(100, host="z"))
    assert [list_of(tmp_path, most).is_about for most in (1, 2, 3, 4)] == [False, False, False, True]
    assert list_of(tmp_path, 3).rows == counted(tmp_path)[:3]
    assert list_of(tmp_path, 3).values == 5


def test_a_window_with_all_values_has_an_exact_list_of_any_length(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=(LIMITED, WHOLE), totals=None)).open()
    site.batch(Event(1, host="a"), Event(2, host="a"), Event(3)).batch(Event(100, host="z"))
    found = list_of(tmp_path, 10)
    assert (found.rows, found.is_about, found.values) == (counted(tmp_path), False, 2)
