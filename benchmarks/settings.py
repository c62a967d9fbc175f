"""The service's settings for a task: its defaults, and what the environment says for a tuning run."""

from pathlib import Path
from typing import Any

from benchmarks.task import Task
from pipeline.settings.model import Settings


def service_settings(task: Task, warehouse: Path, batch: dict[str, Any]) -> Settings:
    """Reads the task's topic from its beginning into a warehouse."""
    # Plain dictionaries, for TIDEMARK_... in the environment adds to those and not to finished sections.
    sections: dict[str, Any] = {
        "kafka": {"bootstrap_servers": task.bootstrap_servers, "topic": task.topic, "start": "earliest"},
        "batch": batch,
        "metrics": {"port": 0},
        # What bad records cost is measured, too.
        "dead_letters": {"limit": 1},
        "spark": {"conf": task.conf},
    }
    if not task.all_reports:
        sections["reports"] = {"page_views": {"keys": ["user_id"], "window": task.window or None}}
    if task.deduplicate != "off":
        sections["deduplicate"] = task.deduplicate
    return Settings(warehouse=str(warehouse), **sections)
