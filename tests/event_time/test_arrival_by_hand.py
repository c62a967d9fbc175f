"""The table of docs/lateness-by-arrival.md follows from the rule, in a model as short as the rule. Times are ms."""

import random
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "lateness-by-arrival.md"
STEP, SIZE, BOUND, IDLE, PARTITIONS = 200, 10_000, 3_000, 5_000, 3
Place = tuple[int, int]


class Record(NamedTuple):
    """A record of a topic."""

    partition: int
    offset: int
    timestamp: int
    time: int


class Judged(NamedTuple):
    """The cells of a line that follow from the others."""

    step: int
    highest: list[str]
    watermark: int | None
    verdict: str


def steps(records: list[Record]) -> dict[Place, int]:
    """Returns the start of the step at which each record arrived."""
    latest = dict.fromkeys(range(PARTITIONS), 0)
    arrived = dict[Place, int]()
    for record in records:
        latest[record.partition] = max(latest[record.partition], record.timestamp // STEP * STEP)
        arrived[record[:2]] = latest[record.partition]
    return arrived


def judge(records: list[Record]) -> dict[Place, Judged]:
    """Judges records, which follow one another by offset in each partition."""
    arrived, watermark, judged = steps(records), None, dict[Place, Judged]()
    first = min(arrived.values())
    for step in range(first, max(arrived.values()) + STEP, STEP):
        before = [
            [record for record in records if record[0] == n and arrived[record[:2]] < step] for n in range(PARTITIONS)
        ]
        highest = [
            max((min(each.time, arrived[each[:2]] + STEP - 1) for each in part), default=None) for part in before
        ]
        last = [max((arrived[each[:2]] for each in part), default=first) for part in before]
        active = [n for n in range(PARTITIONS) if step - last[n] < IDLE]
        times = [highest[n] for n in active or [n for n in range(PARTITIONS) if last[n] == max(last)]]
        if None not in times:
            watermark = max(watermark or 0, min(time for time in times if time is not None) - BOUND)
        shown = [_shown(time, is_active=n in active) for n, time in enumerate(highest)]
        for record in records:
            if arrived[record[:2]] == step:
                is_late = watermark is not None and watermark >= record.time // SIZE * SIZE + SIZE
                judged[record[:2]] = Judged(step, shown, watermark, "too_late" if is_late else "counted")
    return judged


def _shown(time: int | None, *, is_active: bool) -> str:
    text = "-" if time is None else f"{time / 1000:g}"
    return text if is_active else f"({text})"


def lines() -> list[list[str]]:
    """Returns the cells of the table."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row[2].isdigit()]


def records_of(table: list[list[str]]) -> list[Record]:
    return [Record(int(row[0]), int(row[1]), _ms(row[2]), _ms(row[4])) for row in table]


def _ms(seconds: str) -> int:
    return round(float(seconds) * 1000)


def test_each_line_of_the_table_follows_from_the_rule() -> None:
    table = lines()
    judged = judge(records_of(table))
    assert len(table) == len(judged) > 15
    for row in table:
        found = judged[int(row[0]), int(row[1])]
        assert _ms(row[3]) == found.step, row
        assert row[5].split(", ") == found.highest, row
        assert row[6] == ("none" if found.watermark is None else f"{found.watermark / 1000:g}"), row
        assert row[7] == found.verdict, row


def test_in_whatever_order_partitions_are_read_the_verdicts_are_equal() -> None:
    records = records_of(lines())
    parts = [[record for record in records if record.partition == n] for n in range(PARTITIONS)]
    for seed in range(20):
        turns = [record.partition for record in records]
        random.Random(seed).shuffle(turns)
        nexts = [iter(part) for part in parts]
        assert judge([next(nexts[turn]) for turn in turns]) == judge(records)


def test_the_page_counts_its_records() -> None:
    assert f"all {len(lines())} records would be counted" in PAGE.read_text()
