"""Clients of the SQL server that the tests start."""

import os
import shutil
import subprocess

import pytest

PASSWORD = "sesame-of-forty-thieves"
MARK = "hunter2bqkz"
"""A secret in the server's environment."""
needs_psql = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not on PATH")


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
