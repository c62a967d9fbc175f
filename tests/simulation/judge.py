"""Holds the tables of a run against the reference model, after services have read to the end."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tests.simulation.events import MINUTE, NOON
from tests.simulation.model import Expected, Key
from tests.simulation.rules import Rules

_CLOCKED: Final = {"committed_at", "corrected_at", "erased_at", "since"}
"""Columns that differ between runs that are equal."""
_OPENING: Final = ("policy", "closed", "last_batch", "reset")
"""The parts of an opening that are equal in equal runs."""
_MANY: Final = 3
"""Rows that a sentence names."""


def rows_of(warehouse: str, name: str) -> list[dict[str, Any]]:
    """The rows of a table's newest version, read from its files; empty without a table."""
    if not (Path(warehouse) / name / "_delta_log").is_dir():
        return []
    return _rows(DeltaTable(f"{warehouse}/{name}"))


def _rows(table: DeltaTable) -> list[dict[str, Any]]:
    found = list[dict[str, Any]]()
    actions = pa.table(table.get_add_actions(flatten=True))
    constant = [name for name in actions.column_names if name.startswith("partition.")]
    for action in actions.select(["path", *constant]).to_pylist():
        same = {name.removeprefix("partition."): action[name] for name in constant}
        with pq.ParquetFile(f"{table.table_uri.removeprefix('file://')}/{action['path']}") as file:
            found += [{**row, **same} for row in file.read().to_pylist()]
    return found


def ledger_of(warehouse: str) -> list[dict[str, Any]]:
    """The ledger's rows in order of batches and partitions."""
    return sorted(rows_of(warehouse, "ledger"), key=lambda row: (row["batch"], row["partition"]))


def state_of(warehouse: str) -> str:
    """A hash of all tables: rows and transactions, without clocks and names of files."""
    digest = hashlib.sha256()
    for folder in sorted(Path(warehouse).iterdir()):
        if (folder / "_delta_log").is_dir():
            table = DeltaTable(str(folder))
            rows = sorted(repr([*_plain(row)]) for row in _rows(table))
            digest.update(repr((folder.name, rows, sorted(transactions(folder).items()))).encode())
    digest.update(repr([*_commits(Path(warehouse) / "ledger")]).encode())
    return digest.hexdigest()


def _plain(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a row that are equal in every equal run."""
    for name, value in row.items():
        if name == "opening" and value:
            opening = json.loads(value)
            yield name, [opening[part] for part in _OPENING]
        elif name not in _CLOCKED:
            yield name, value


def transactions(folder: Path) -> dict[str, int]:
    """The newest version of each application's transaction in a table's log."""
    found = dict[str, int]()
    for entry in sorted((folder / "_delta_log").glob("[0-9]*.json")):
        for line in entry.read_text().splitlines():
            if line.startswith('{"txn"'):
                transaction = json.loads(line)["txn"]
                found[transaction["appId"]] = transaction["version"]
    return {app: version for app, version in found.items() if app != "tidemark-vacuum"}


def ledger_findings(warehouse: str) -> Iterator[str]:
    """Offsets join, each batch is there once, and the log's order is that of the batches."""
    positions = dict[int, int]()
    for row in ledger_of(warehouse):
        where, expected = row["partition"], positions.get(row["partition"], 0)
        if row["from_offset"] != expected:
            yield f"ledger: batch {batch_name(row['batch'])} begins at {row['from_offset']} and not at {expected}"
        positions[where] = row["to_offset"]
    rows = Counter((row["batch"], row["partition"]) for row in ledger_of(warehouse))
    if twice := [batch_name(batch) for (batch, _), times in rows.items() if times > 1]:
        yield f"ledger: twice: {twice[:_MANY]}"
    order = list(_commits(Path(warehouse) / "ledger"))
    if order != sorted(order):
        yield f"ledger: a commit after a later batch: {[batch_name(batch) for batch in order][-5:]}"


def _commits(folder: Path) -> Iterator[int]:
    """The batch of each commit that appends to the ledger, in order of the log."""
    for entry in sorted((folder / "_delta_log").glob("[0-9]*.json")):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        added = [action["add"] for action in actions if "add" in action]
        if added and not any("remove" in action for action in actions):
            yield max(json.loads(add["stats"])["maxValues"]["batch"] for add in added)


def void_findings(warehouse: str) -> Iterator[str]:
    """Nothing uncommitted stays."""
    batches = {row["batch"] for row in ledger_of(warehouse)}
    for name in ("panes", "dead_letters", "event_ids"):
        void = {batch_name(row["batch"]) for row in rows_of(warehouse, name) if row["batch"] not in batches}
        if void:
            yield f"{name}: rows of batches that were never committed stay: {sorted(void)[:_MANY]}"


def table_findings(warehouse: str, expected: Expected, rules: Rules, removed: Mapping[str, int]) -> Iterator[str]:
    """Results, dead letters and event ids equal the model's; `removed` is how far retention went, by table."""

    def both(name: str) -> tuple[Counter[Key], Counter[Key]]:
        return expected.rows[name], _content(warehouse, name)

    for name in expected.rows:
        until = removed.get(name, 0)
        kept = (Counter({key: n for key, n in rows.items() if not until or key[2] > until}) for rows in both(name))
        yield from differences(name, *kept)
    letters = Counter((row["partition"], row["offset"], row["reason"]) for row in rows_of(warehouse, "dead_letters"))
    wanted = Counter({(*place, reason): 1 for place, reason in expected.letters.items()})
    yield from differences("dead_letters", wanted, letters)
    if rules.deduplicates:
        yield from _id_findings(warehouse, expected)


def _id_findings(warehouse: str, expected: Expected) -> Iterator[str]:
    """Each id is there once, as long as its event might come again; ids of other events are not."""
    ids = Counter(row["id_high"] for row in rows_of(warehouse, "event_ids"))
    needed = {number for number, time in expected.ids.items() if time >= expected.ids_since}
    twice, surplus = {number for number in ids if ids[number] > 1}, ids.keys() - expected.ids.keys()
    for how, numbers in (("twice", twice), ("missing", needed - ids.keys()), ("surplus", surplus)):
        if numbers:
            yield f"event_ids: {how}: {sorted(numbers)[:_MANY]}"


def person_findings(warehouse: str, users: frozenset[str]) -> Iterator[str]:
    """No table has a user that was erased."""
    for folder in sorted(Path(warehouse).iterdir()):
        rows = rows_of(warehouse, folder.name)
        for user in users:
            value = f"{user} ".encode()
            if any(row.get("user_id") == user or (row.get("value") or b"").startswith(value) for row in rows):
                yield f"{folder.name}: {user} was erased and is there"


def _content(warehouse: str, name: str) -> Counter[Key]:
    rows = rows_of(warehouse, name)
    if name == "user_totals":
        return Counter((row["user_id"], row["page_views"]) for row in rows)
    found = list[Key]()
    for row in rows:
        window = row["user_id"], milliseconds(row["window_start"]), milliseconds(row["window_end"])
        has_late = name not in ("visits", "pairs", "last")
        numbers = (row["page_views"], row["late_events"]) if has_late else (row["page_views"],)
        found.append((*window, *numbers))
    return Counter(found)


def differences(name: str, wanted: Counter[Any], found: Counter[Any]) -> Iterator[str]:
    """Rows of a table that are missing, and those that are too many."""
    missing, surplus = wanted - found, found - wanted
    if missing or surplus:
        yield f"{name}: missing {_row_texts(missing)}, surplus {_row_texts(surplus)}"


def _row_texts(rows: Counter[Any]) -> list[str]:
    """Times are shown as minutes after noon."""
    keys = sorted(rows.elements(), key=str)[:_MANY]
    return [" ".join(str(_minute(value)) for value in key) for key in keys]


def _minute(value: Any) -> Any:
    return f"{(value - NOON) / MINUTE:g}'" if isinstance(value, int) and value > NOON // 2 else value


def batch_name(batch: int) -> str:
    """A batch as epoch and number."""
    return f"{batch // 10**9}.{batch % 10**9}"


def milliseconds(moment: Any) -> int:
    """A timestamp of a row in milliseconds."""
    return int(moment.timestamp() * 1000)
