"""Flink's two APIs as contestants of the duel; the program is that of the drain."""

import json
from abc import ABC
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from benchmarks.duel.contestant import Arena, Contestant
from benchmarks.duel.scenario import Cell, Kind, kinds_of
from benchmarks.duel.tables import parquet_cells, parquet_table
from benchmarks.peers.flink.check import LATE, WINDOWS
from benchmarks.peers.flink.cluster import CHECKPOINT_INTERVAL_MS, PROGRAM, Api, drain_settings, jvm_options
from benchmarks.task import Task
from dev.flink import command, compiled

_IDLENESS_MS: Final = 10_000
_OPTIONS: Final = (
    "bound 10 s, idleness 10 s, checkpoints exactly-once every 5 s, started again from the newest checkpoint, "
    "read_committed, Parquet; malformed records skipped"
)


class _Flink(Contestant, ABC):
    api: ClassVar[Api]

    def __init__(self, arena: Arena) -> None:
        """Prepares nothing yet."""
        super().__init__(arena)
        self._class_path = ""
        self._output = arena.folder / "output"

    def prepare(self) -> None:
        """Compiles the program and writes its settings."""
        folder = self.arena.folder
        for name in ("classes", "scratch"):
            (folder / name).mkdir()
        self._class_path = compiled(PROGRAM, folder / "classes")
        self._settings.write_text(json.dumps(self.drain_settings()))

    def command(self) -> list[str]:
        """Returns a mini-cluster that continues from the newest complete checkpoint."""
        checkpoints = sorted(self._output.glob("checkpoints/*/chk-*/_metadata"), key=lambda file: file.stat().st_mtime)
        restored = [file.parent.as_uri() for file in checkpoints[-1:]]
        java = command(self._class_path, "drains.Endless", jvm_options())
        return [*java, str(self._settings), self._output.as_uri(), *restored]

    def table(self) -> Mapping[Cell, int]:
        """Returns the rows of the committed files."""
        return parquet_cells(self._output / WINDOWS)

    @property
    def _settings(self) -> Path:
        return self.arena.folder / "settings.json"

    def drain_settings(self) -> dict[str, Any]:
        """Returns the settings of the program, which reads on at the end of the topic."""
        arena = self.arena
        task = Task(arena.bootstrap_servers, arena.topic, events=0, work=str(arena.folder))
        settings = drain_settings(task, self.api, CHECKPOINT_INTERVAL_MS, ["event_id"])
        return {**settings, "tolerant": True, "idleness": _IDLENESS_MS}


class FlinkDataStream(_Flink):
    """KafkaSource, keyBy, window, FileSink; late events to another FileSink."""

    name = "flink-datastream"
    title = "Flink, DataStream"
    options = f"{_OPTIONS}; late events to a side output; no operator removes duplicates"
    api = "datastream"

    def said(self) -> Counter[Kind]:
        """Returns the late events."""
        late = parquet_table(self._output / LATE)
        return kinds_of(late["user_id"].to_pylist() if late else ())


class FlinkSql(_Flink):
    """A Kafka table, window deduplication, TUMBLE, a table of files."""

    name = "flink-sql"
    title = "Flink, SQL"
    options = f"{_OPTIONS}; window deduplication by event_id"
    api = "sql"

    def said(self) -> Counter[Kind]:
        """Returns no record: late and malformed records are metrics."""
        return Counter()
