"""The service under load, in a process of its own, with a sampler beside it. SIGTERM ends it."""

import json
import signal
import sys
from pathlib import Path
from threading import Event

from benchmarks.freshness.sampler import Sampler
from benchmarks.settings import service_settings
from benchmarks.task import Task
from pipeline.app import open_service

READY = "ready"
SAMPLES = "samples.json"
WAREHOUSE = "warehouse"


def main() -> None:
    """Serve until told to stop; what was sampled is in the work folder afterwards."""
    task = Task(**json.loads(sys.argv[1]))
    work, stopping = Path(task.work), Event()
    settings = service_settings(task, work / WAREHOUSE, batch={"interval": "1s"})
    with open_service(settings) as service:
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        with Sampler(service.metrics_port) as sampler:
            (work / READY).touch()
            service.run(stopping)
    (work / SAMPLES).write_text(sampler.samples.to_json())


if __name__ == "__main__":
    main()
