"""Play every transcript that Flink can express on a Flink mini-cluster and keep what it did: the only part with a JVM.

`make flink` needs a JDK (17 or later), and the network at its first use.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dev.flink import command, compiled
from tests.flink.differences import played_by
from tests.flink.flink_job import RUNS, fingerprint, job_of
from tests.flink.results import Played, keep
from tests.transcripts.transcript import Transcript

PROGRAM = Path(__file__).parent / "stepped"


def play(transcripts: Sequence[Transcript], run: str, class_path: str) -> list[Played]:
    """Has the mini-cluster play them; returns what it made of them."""
    with tempfile.TemporaryDirectory() as directory:
        asked, answered = Path(directory) / "told.json", Path(directory) / "played.json"
        jobs = [job_of(transcript, run) for transcript in transcripts]
        asked.write_text(json.dumps(jobs))
        subprocess.run([*command(class_path, "stepped.Main"), str(asked), str(answered)], check=True)
        answers = json.loads(answered.read_text())
    return [
        {"name": job["name"], "told": fingerprint(job), "steps": list(_steps(steps, _names(job)))}
        for job, steps in zip(jobs, answers, strict=True)
    ]


def _names(job: Mapping[str, Any]) -> list[str]:
    return [report["name"] for report in job["reports"]]


def _steps(played: Sequence[dict[str, Any]], reports: Sequence[str]) -> Iterator[dict[str, Any]]:
    for step in played:
        yield {"watermark": step["watermark"], "reports": {name: _report(step, name) for name in reports}}


def _report(step: dict[str, Any], name: str) -> dict[str, Any]:
    """Two tasks have the keys between them, so their order is chance; that of what was said of one key is not."""
    rows = sorted((row for row in step["fired"] if row["report"] == name), key=lambda row: row["key"].split())
    fired = [[*row["key"].split(), row["start"], row["end"], *row["measures"]] for row in rows]
    late = [(it["event"]["user"], it["event"]["eventTime"]) for it in step["late"] if it["report"] == name]
    return {"fired": fired, "late": [list(event) for event in sorted(late)]}


def main() -> int:
    """Compile, play all runs, keep the results."""
    with tempfile.TemporaryDirectory() as classes:
        class_path = compiled(PROGRAM, Path(classes))
        for run in RUNS:
            keep(run, play(played_by(run), run, class_path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
