"""Tidemark as a contestant of the duel."""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.contestants import ONE_REPORT
from benchmarks.duel.contestant import Contestant
from benchmarks.duel.scenario import Cell, Kind, kinds_of
from benchmarks.duel.tables import delta_cells
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, PAGE_VIEWS, find_table

_SETTINGS: Final = """\
deduplicate = "event_id"
[reports.page_views]
keys = ["user_id"]
[time]
idle_timeout = "10s"
[metrics]
port = 0
"""
# A reader ignores rows whose batch is not in the ledger.
_REJECTED_SQL: Final = "SELECT key FROM dead WHERE batch IN (SELECT batch FROM ledger)"


class Tidemark(Contestant):
    """`tidemark run`."""

    name = ONE_REPORT
    title = "Tidemark"
    options = "defaults (bound 10 s); idle_timeout 10 s, deduplicate = event_id, one report; dead letters"

    def prepare(self) -> None:
        """Writes the settings."""
        self._settings.write_text(_SETTINGS)

    def command(self) -> list[str]:
        """Returns `tidemark run`."""
        arena = self.arena
        source = ["--kafka.bootstrap-servers", arena.bootstrap_servers, "--kafka.topic", arena.topic]
        settings = ["--config", str(self._settings), "--warehouse", self._warehouse]
        return [sys.executable, "-m", "tidemark.pipeline.cli", "run", *settings, *source]

    def table(self) -> Mapping[Cell, int]:
        """Returns the published windows."""
        return delta_cells(f"{self._warehouse}/{PAGE_VIEWS.name}")

    def said(self) -> Counter[Kind]:
        """Returns the dead letters."""
        dead, ledger = (find_table(spec.name, self._warehouse) for spec in (DEAD_LETTERS, LEDGER))
        rows = rows_of(_REJECTED_SQL, dead=dead, ledger=ledger) if dead and ledger else []
        return kinds_of(bytes(row["key"]).decode() for row in rows)

    @property
    def _settings(self) -> Path:
        return self.arena.folder / "tidemark.toml"

    @property
    def _warehouse(self) -> str:
        return str(self.arena.folder / "warehouse")
