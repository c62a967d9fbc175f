"""Which rows of a batch are written ahead to which table, with tables that only note them."""

from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.pipeline.service import write_ahead
from tidemark.pipeline.service.write_ahead import WriteAhead
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, EVENT_IDS, PANES, TableSpec

RESULT: Any = SimpleNamespace(
    rejected=lambda: iter(["apart"]),
    chunks=lambda _: iter(["first", "second"]),
    groupings=None,
    frame=None,
    row_count=0,
)
WRITTEN = {PANES.name: ["first", "second"], DEAD_LETTERS.name: ["apart", "first", "second"], EVENT_IDS.name: ["ids"]}
MARKED = {PANES.name: ["mark 7"], DEAD_LETTERS.name: [], EVENT_IDS.name: ["mark 7"]}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """By table, what is appended."""
    written: dict[str, list[str]] = {spec.name: [] for spec in (PANES, DEAD_LETTERS, EVENT_IDS)}

    def appender(spec: TableSpec, _: str) -> Any:
        rows = written[spec.name]
        return SimpleNamespace(
            append=lambda chunk, _: rows.append(chunk), mark=lambda batch: rows.append(f"mark {batch}")
        )

    monkeypatch.setattr(write_ahead, "Appender", appender)
    for name in ("panes", "dead_letters", "event_ids"):
        monkeypatch.setattr(write_ahead, name, lambda chunk, *_: chunk)
    return written


def batch(counted: int = 1, consumers: tuple[str, ...] = ("page_views",)) -> Any:
    return SimpleNamespace(
        batch_id=7,
        topic="t",
        before=SimpleNamespace(watermark=None),
        policy=SimpleNamespace(consumers=consumers),
        tallies=SimpleNamespace(total=lambda _: counted),
    )


def test_each_chunk_is_written_to_panes_and_dead_letters_and_the_batch_is_recorded(
    tables: dict[str, list[str]],
) -> None:
    ids: Any = "ids"
    WriteAhead("", {}, deduplicates=True).write(RESULT, ids, batch())
    assert tables == {name: WRITTEN[name] + MARKED[name] for name in WRITTEN}


def test_without_deduplication_there_are_no_ids_and_without_reports_no_panes(tables: dict[str, list[str]]) -> None:
    WriteAhead("", {}, deduplicates=False).write(RESULT, None, batch(consumers=()))
    assert tables == {PANES.name: MARKED[PANES.name], DEAD_LETTERS.name: WRITTEN[DEAD_LETTERS.name], EVENT_IDS.name: []}


def test_a_batch_without_counted_events_is_not_recorded(tables: dict[str, list[str]]) -> None:
    WriteAhead("", {}, deduplicates=False).write(RESULT, None, batch(counted=0))
    assert tables[PANES.name] == WRITTEN[PANES.name]


def test_an_error_of_any_table_is_raised(tables: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(chunk: str, *_: object) -> str:
        if chunk == "second":
            raise OSError(28, "no space")
        return chunk

    monkeypatch.setattr(write_ahead, "dead_letters", fails)
    with pytest.raises(OSError, match="no space"):
        WriteAhead("", {}, deduplicates=False).write(RESULT, None, batch())
    assert "mark 7" not in tables[PANES.name]
