"""Writes the dashboards as JSON for Grafana: `make pages`."""

from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dev.dashboards.overview import overview
from dev.dashboards.steps import steps
from dev.dashboards.tables import tables
from dev.dashboards.visitors import visitors

FOLDER: Final = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"


def dashboard_files() -> dict[Path, str]:
    """Returns the text of each dashboard by file."""
    boards = {"overview": overview(), "steps": steps(), "tables": tables(), "visitors": visitors()}
    return {
        FOLDER / f"{name}.json": JSONEncoder(sort_keys=True, indent=2).encode(board.build()) + "\n"
        for name, board in boards.items()
    }


if __name__ == "__main__":
    for file, text in dashboard_files().items():
        file.write_text(text)
