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

from pipeline.errors import SetUpError
from pipeline.runtime.java import find_java
from tests.flink.differences import played_by
from tests.flink.jar import flink_jar
from tests.flink.results import Played, keep
from tests.flink.told import RUNS, fingerprint, told
from tests.transcripts.transcript import Transcript

PROGRAM = Path(__file__).parent / "stepped"
# Java 17 asks for these where Flink looks into the JDK; they are those of Flink's own configuration.
OPENS = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "time")]


def play(transcripts: Sequence[Transcript], run: str, classes: str) -> list[Played]:
    """Has the mini-cluster play them; returns what it made of them."""
    with tempfile.TemporaryDirectory() as directory:
        asked, answered = Path(directory) / "told.json", Path(directory) / "played.json"
        jobs = [told(transcript, run) for transcript in transcripts]
        asked.write_text(json.dumps(jobs))
        java = find_java() / "bin" / "java"
        subprocess.run([java, *OPENS, "-cp", classes, "stepped.Main", str(asked), str(answered)], check=True)
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


def _compiler() -> Path:
    compiler = find_java() / "bin" / "javac"
    if not compiler.exists():
        raise SetUpError(f"There is no {compiler}: Flink's part needs a JDK, such as OpenJDK 17; set JAVA_HOME to one.")
    return compiler


def main() -> int:
    """Compile, play all runs, keep the results."""
    jar = flink_jar()
    with tempfile.TemporaryDirectory() as classes:
        sources = [str(path) for path in sorted(PROGRAM.glob("*.java"))]
        subprocess.run([_compiler(), "-nowarn", "-d", classes, "-cp", str(jar), *sources], check=True)
        for run in RUNS:
            keep(run, play(played_by(run), run, f"{classes}:{jar}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
