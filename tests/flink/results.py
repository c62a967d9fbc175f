"""Keeps what Flink did as data: one file per run, one entry per transcript, in the order of their names."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support.yaml_text import parsed

HERE = Path(__file__).parent / "results"
KEPT_BY = "# Written by `make flink`; not by hand. fired: [keys..., start, end, measures...].\n"

Played = Mapping[str, Any]
"""`name`, `told` (the fingerprint of Flink's input), and `steps`, each with `watermark`, `fired` and `late`."""


@cache
def recorded_results(run: str) -> dict[str, Played]:
    """The entries of a run by name; read once."""
    path = HERE / f"{run}.yaml"
    return {entry["name"]: entry for entry in parsed(path.read_text())} if path.exists() else {}


def keep(run: str, played: Sequence[Played]) -> None:
    """Rewrites the file of a run."""
    HERE.mkdir(exist_ok=True)
    entries = sorted(played, key=lambda entry: str(entry["name"]))
    text = yaml.safe_dump(entries, default_flow_style=None, sort_keys=False, width=120)
    (HERE / f"{run}.yaml").write_text(KEPT_BY + text)
