"""The parts of the search that need no warehouse."""

from typing import Any

from tests.simulation.events import MINUTE, NOON, events
from tests.simulation.model import Model
from tests.simulation.mutations import MUTATIONS, attribute_at
from tests.simulation.page import HEADING, kept_searches, oldest_first, section
from tests.simulation.play import Plan
from tests.simulation.rules import COUNTS, GRID, GROWING, HOURS, SESSIONS, Rules
from tests.simulation.search import Search, after
from tests.simulation.writers import Fault, Held, Point, Stage, Writer
from tests.support import evidence


def batch(number: int, first: int, last: int, before: float | None, after: float) -> dict[str, object]:
    watermarks = [None if minute is None else NOON + round(minute * MINUTE) for minute in (before, after)]
    opening = None if number % 10**9 else '{"reset": null}'
    row = {"batch": number, "epoch": number // 10**9, "partition": 0, "from_offset": first, "to_offset": last}
    return {**row, "watermark_before": watermarks[0], "watermark": watermarks[1], "opening": opening}


def expected(text: str, rules: Rules, *batches: tuple[int, int, float | None, float]) -> dict[str, list[Any]]:
    ledger = [batch(10**9, 0, 0, None, 0), *(batch(10**9 + n, *values) for n, values in enumerate(batches, 1))]
    found = Model((events(text),), {1: rules}).replay(ledger)
    rows = {name: sorted(map(in_minutes, keys)) for name, keys in found.rows.items()}
    return {**rows, "letters": sorted(found.letters.items())}


def in_minutes(key: tuple[Any, ...]) -> tuple[Any, ...]:
    user, start, end, *numbers = key
    return user, (start - NOON) / MINUTE, (end - NOON) / MINUTE, *numbers


def test_each_protection_that_may_be_taken_back_exists() -> None:
    for mutation in MUTATIONS.values():
        for path in mutation.patches:
            attribute_at(path)  # raises AttributeError


def test_the_model_counts_what_is_in_time_and_rejects_what_is_late() -> None:
    #  minute   1  5      12   | 3 (window closed)  21
    found = expected("1ann 5ann 12bob 3ann 21bob", GRID, (0, 3, None, 12), (3, 5, 12, 21))
    assert found["page_views"] == [("ann", 0, 10, 2, 0), ("bob", 10, 20, 1, 0)]
    assert found["letters"] == [((0, 3), "too_late")]


def test_the_model_joins_sessions_and_fills_windows_by_count() -> None:
    assert expected("1ann 3ann 9ann 30bob", SESSIONS, (0, 4, None, 30))["visits"] == [
        ("ann", 1, 7, 2),
        ("ann", 9, 13, 1),
    ]
    assert len(expected("1ann 3ann 9ann 30bob", COUNTS, (0, 4, None, 30))["pairs"]) == 1


def test_the_model_counts_cumulative_windows_and_those_of_a_zone() -> None:
    assert expected("6ann 13ann 30bob", Rules((GROWING,)), (0, 3, None, 30))["growing"] == [
        ("ann", 0, 10, 1, 0),
        ("ann", 0, 15, 2, 0),
        ("ann", 0, 20, 2, 0),
    ]
    # 12:15 is six o'clock in the evening in Kathmandu.
    assert expected("14ann 16ann 90bob", Rules((HOURS,)), (0, 3, None, 90))["hours"] == [
        ("ann", -45, 15, 1, 0),
        ("ann", 15, 75, 1, 0),
    ]


def test_a_switch_is_of_its_own_after_a_write_and_after_a_read_of_what_the_other_writes() -> None:
    points = [Point("open", "panes", writes=False), Point("open", "visits", writes=False)]
    points += [Point("write", "visits", writes=True), Point("open", "ledger", writes=False)]
    assert after(points, {"panes"}) == [0, 1, 3]


def test_a_writer_runs_only_while_it_has_the_baton_and_ends_at_its_fault() -> None:
    stage, done = Stage(NOON), list[int]()

    def work() -> None:
        for number in range(3):
            writer.at(Point("write", "ledger", writes=True))
            done.append(number)

    writer = Writer(stage, "one", work)
    writer.faults = {2: Fault.ENDS}
    writer.start()
    assert (writer.step(), done) == (True, [])
    assert (writer.step(), done) == (True, [0])
    writer.finish()
    assert (done, writer.was_killed) == ([0, 1], True)


def test_a_late_commit_lands_before_the_call_of_its_turn_and_once() -> None:
    landed = list[str]()

    def land() -> bool:
        landed.append("landed")
        return True

    held = Held("panes", land, wait=1)
    assert [held.pass_by(table) for table in ("ledger", "panes", "panes", "panes")] == [False, False, True, False]
    assert (landed, held.finish()) == (["landed"], False)


def test_the_id_of_a_plan_is_read_as_it_is_written() -> None:
    for text in ("start-start.grid:none:17", "restart.grid:late:6:1", "restart.grid:lost:write.ledger.1"):
        assert str(Plan.parse(text)) == text


def test_the_section_adds_up_the_runs_of_a_kind_and_names_the_commits_of_its_searches() -> None:
    first, second = {"commit": "abc1234", "date": "2026-01-02"}, {"commit": "def1234", "date": "2026-01-01"}
    numbers = {"points": 10, "plans": 11, "runs": 7, "states": 3, "failing": 0}
    kinds = {"none": {**first, **numbers}, "refused": {**second, **numbers}}
    text = section({"a-b.grid": kinds, "b-a.grid": {"lost": {**first, **numbers, "failing": 2}}})
    assert "**2 scenes, 20 points, 33 plans, 21 runs, of which 9 ended in a state of their own; 2 plans" in text
    assert "| `grid` | 21 | `a-b`, **`b-a`** |" in text
    assert "- commit def1234 (2026-01-01): 1\n- commit abc1234 (2026-01-02): 2\n" in text


def test_the_section_in_the_documentation_is_of_the_searches_that_are_stored() -> None:
    assert evidence.section(evidence.EVIDENCE.read_text(), HEADING) == section(kept_searches())


def test_searches_that_never_ran_come_first_and_then_those_of_longest_ago() -> None:
    stored = {"a": {"none": {"date": "2026-01-02"}, "lost": {"date": "2026-01-01"}}}
    searches = [Search("a", "none"), Search("a", "lost"), Search("b", "none")]
    assert oldest_first(searches, stored) == [searches[2], searches[1], searches[0]]
