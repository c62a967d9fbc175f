"""The SQL server, and the clients of it that the tests start."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from demo.children import free_port
from tests.support.processes import Process, tidemark
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import Site

PASSWORD = "sesame-of-forty-thieves"
MARK = "hunter2bqkz"
"""A secret in the server's environment."""
needs_psql = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not on PATH")


@contextmanager
def serving(site: Site, folder: Path, *options: str) -> Iterator[tuple[int, Process]]:
    """Yields the port and the process of a server of the warehouse, which must end well."""
    port = free_port()
    variables = {"TIDEMARK_SQL_PASSWORD": PASSWORD, "AWS_SECRET_ACCESS_KEY": MARK}
    arguments = (f"--warehouse={site.warehouse}", f"--port={port}", "--memory=500m", *options)
    with tidemark(folder / "log", "sql-server", *arguments, driver=variables) as process:
        wait_for(lambda: "sql_server_listening" in process.said or not process.alive, PATIENCE_S, "its opening")
        assert process.alive, process.said
        yield port, process
        assert process.alive, process.said
        process.send(signal.SIGTERM)
        assert process.wait() == 0, process.said


def address(port: int, user: str = "tidemark", password: str = PASSWORD) -> str:
    return f"postgresql://{user}:{password}@127.0.0.1:{port}/tidemark"


def psql(port: int, *commands: str, **environment: str) -> list[str]:
    """Returns the lines that psql prints."""
    options = [f"--command={command}" for command in commands]
    done = subprocess.run(
        ["psql", "--no-psqlrc", "--no-align", "--tuples-only", *options, address(port)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
