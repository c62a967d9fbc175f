"""Every verb that reads a store reports in one sentence that the store cannot be reached."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_S
from tidemark.pipeline.cli import main

VERBS = {
    "status": [],
    "report": [],
    "verify": [],
    "live": [],
    "advise": [],
    "reset-watermark": [],
    "correct": ["--bootstrap-servers=b:9092", "--topic=t"],
}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("TIDEMARK_", "AWS_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_folder(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    refused(verb, f"{tmp_path}/file/warehouse", capsys)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["status", "verify", "correct"])
def test_an_object_store_that_is_down_is_reported(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for name, value in {
        "ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "ALLOW_HTTP": "true",
        "REGION": "nowhere",
        "ACCESS_KEY_ID": "a",
        "SECRET_ACCESS_KEY": "b",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    assert "does not answer" in refused(verb, "s3://bucket/warehouse", capsys)


@pytest.mark.slow
def test_missing_credentials_are_one_sentence(tmp_path: Path) -> None:
    """delta-rs would first print a warning for each place that has no credentials."""
    environment = {**os.environ, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "nowhere", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tidemark.pipeline.cli", "status", "--warehouse=s3://bucket/warehouse"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert re.fullmatch(r"tidemark: the store of \S+ does not answer: .*Set its credentials, or .*\n", done.stderr)


def refused(verb: str, warehouse: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence, of which there is one."""
    assert main([verb, f"--warehouse={warehouse}", *VERBS[verb]]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("tidemark: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    return said.err
