"""Compares Flink's results with the sent events, per user and window."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.errors import BenchmarkError
from benchmarks.peers.flink.cluster import WINDOW_MS
from tidemark.producers.truth import Truth

Cells = Counter[tuple[str, int, str]]
"""Counts by user, window start in milliseconds, and kind of count."""
WINDOWS: Final = "page_views"
LATE: Final = "late"
_COUNTS: Final = ("page_views", "clicks")


def check(folder: Path, truth: Truth, *, has_late_file: bool, others: Iterable[str] = ()) -> dict[str, int]:
    """Returns the numbers of written rows and events. Raises BenchmarkError if they do not match `truth`.

    Each event that was sent in time must be counted once, in its window. A late event may be counted, if its window was
    still open; otherwise it must be among the late events, if `has_late_file`. The tables `others` have other keys, and
    must have the same sums by window, except for late events.
    """
    windows = _read(folder / WINDOWS)
    late = _read(folder / LATE) if has_late_file else None
    counted, on_time, too_late = _of_windows(windows), _cells(truth.on_time), _cells(truth.too_late)
    apart = Counter() if late is None else _of_events(late)
    sent = on_time + too_late
    found = {"windows": windows.num_rows, "counted": counted.total(), "late": apart.total(), "sent": sent.total()}
    keys = windows.group_by(["window_start", "user_id"]).aggregate([])
    _require(windows.num_rows == keys.num_rows, "a user has one row in a window", found)
    _require(on_time <= counted, "every event that was sent in time must be counted", found)
    _require(counted + apart <= sent, "no event may be counted that was not sent, or twice", found)
    _require(late is None or found["counted"] + found["late"] == found["sent"], "no event may be lost", found)
    for name in others:
        sums = _sums(_of_windows(_read(folder / name)))
        _require(_sums(on_time) <= sums, f"every event that was sent in time must be counted in {name}", found)
        _require(sums <= _sums(sent), f"no event may be counted twice in {name}", found)
    return found


def _sums(cells: Cells) -> Counter[tuple[int, str]]:
    """Returns counts by window start and kind of count."""
    sums: Counter[tuple[int, str]] = Counter()
    for (_, start, name), count in cells.items():
        sums[start, name] += count
    return sums


def finished_files(folder: Path) -> list[Path]:
    """Returns the files that Flink has committed; names of others begin with a dot or an underscore.

    A reader polls it, so it asks for no file by itself.
    """
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return [Path(entry) for entry in entries if entry.is_file() and not entry.name.startswith((".", "_"))]


def _read(folder: Path) -> pa.Table:
    """Reads the files that Flink has committed."""
    return ds.dataset(folder, format="parquet").to_table()


def _of_windows(windows: pa.Table) -> Cells:
    return _cells(windows.set_column(0, "window_start", milliseconds(windows["window_start"])))


def _of_events(events: pa.Table) -> Cells:
    """Counts late events in the windows that they missed."""
    times = milliseconds(events["event_time"])
    starts = pc.multiply(pc.divide(times, WINDOW_MS), WINDOW_MS)
    clicks = pc.cast(events["click"], pa.int64())
    columns = [events["user_id"], starts, pc.subtract(1, clicks), clicks]
    return _cells(pa.table(columns, ["user_id", "window_start", *_COUNTS]))


def milliseconds(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns times of any unit in milliseconds since 1970."""
    return pc.cast(pc.cast(times, pa.timestamp("ms", times.type.tz)), pa.int64())


def _cells(table: pa.Table) -> Cells:
    cells: Cells = Counter()
    for name in _COUNTS:
        keys = zip(_keys(table), table["window_start"].to_pylist(), strict=True)
        for (user, start), count in zip(keys, table[name].to_pylist(), strict=True):
            cells[user, start, name] += count
    return cells


def _keys(table: pa.Table) -> list[str]:
    """Returns the column `user_id`, or a value for a table of another key, of which only sums are compared."""
    keys: list[str] = table["user_id"].to_pylist() if "user_id" in table.column_names else [""] * table.num_rows
    return keys


def _require(holds: bool, rule: str, found: dict[str, int]) -> None:  # noqa: FBT001 - an assertion
    if not holds:
        raise BenchmarkError(f"what Flink wrote is not what was sent, {rule}: {found}")
