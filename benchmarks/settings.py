"""The service's settings for a task: defaults, and environment variables of a tuning run."""

from pathlib import Path
from typing import Any

from benchmarks.task import Reports, Task
from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.settings.model import Settings


def service_settings(task: Task, warehouse: Path, batch: dict[str, Any]) -> Settings:
    """Returns settings that read the task's topic from its start into `warehouse`."""
    # Dictionaries, because TIDEMARK_... in the environment is merged into dictionaries, but not into sections.
    sections: dict[str, Any] = {
        "kafka": {"bootstrap_servers": task.bootstrap_servers, "topic": task.topic, "start": "earliest"},
        "batch": batch,
        "metrics": {"port": 0},
        # The part `bad` drains topics of bad records only.
        "dead_letters": {"limit": 1},
        "spark": {"conf": task.conf},
    }
    window = task.window or None
    sections["reports"] = {name: {"keys": [*keys], "window": window} for name, keys in task.keys.items()}
    if others := sorted({key for keys in task.keys.values() for key in keys} - {*KEYS}):
        sections["dimensions"] = {name: name for name in others}
    if task.reports == Reports.WITH_SITE:
        sections["site"] = {"zone": "UTC"}
    if task.format != "avro":
        sections["schemas"] = {"format": task.format}
    if task.deduplicate != "off":
        sections["deduplicate"] = task.deduplicate
    return Settings(warehouse=str(warehouse), **sections)
