"""`tidemark sql`: DuckDB's own shell, with the tables of a warehouse as views."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Final

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.reading import shell_output
from tidemark.pipeline.reading.sql_views import views
from tidemark.pipeline.tables.durable import local
from tidemark.pipeline.tables.engines import Engine

FORMATS: Final = {"table": "-box", "csv": "-csv", "json": "-json"}
"""Options of DuckDB's shell by output format."""
_EXTENSION: Final = "duckdb_extension_delta"
_MISSING: Final = "`tidemark sql` needs {}: pip install 'tidemark-lake[sql]'"


def run_shell(warehouse: str, statement: str | None, form: str) -> int:
    """Runs `statement`, or opens the shell without one; returns the exit code. `form` is a key of `FORMATS`.

    Raises SetUpError if the warehouse is not readable, or the shell is not installed.
    """
    command = [_shell(), "-init", "/dev/null", "-cmd", _init_sql(warehouse), _option(form, sys.stdout.encoding)]
    if statement is not None:
        return _run([*command, "-bail", "-c", statement], form)
    # Ctrl-C ends a query in the shell, and must not end this process.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return _run([*command, "-cmd", ".pager on"], form, is_in_terminal=True)
        return _run(command, form)
    finally:
        signal.signal(signal.SIGINT, previous)


def _option(form: str, encoding: str) -> str:
    """Returns the shell's option for a format; a table is drawn with ASCII if `encoding` lacks lines."""
    return "-table" if form == "table" and not "┌".encode(encoding, "ignore") else FORMATS[form]


def _run(command: Sequence[str], form: str, *, is_in_terminal: bool = False) -> int:
    """Runs the shell, copies its output without control characters, and returns its exit code.

    In a terminal the shell edits lines itself, so its output passes through our pager.
    """
    pager = shlex.join([sys.executable, "-m", shell_output.__name__, form])
    output = None if is_in_terminal else subprocess.PIPE
    with subprocess.Popen(
        command,
        stdout=output,
        stderr=subprocess.PIPE,
        env={**os.environ, "DUCKDB_PAGER": pager},
        encoding="utf-8",
        errors="backslashreplace",
    ) as shell:
        assert shell.stderr  # noqa: S101 - for the type checker
        errors = Thread(target=shell_output.copy_lines, args=(shell.stderr, "table", sys.stderr))
        errors.start()
        if shell.stdout:
            shell_output.copy_lines(shell.stdout, form, sys.stdout)
            shell.stdout.close()
        errors.join()
    return shell.returncode


def views_sql(warehouse: str, engine: Engine) -> str:
    """Returns the statements that create the views in `engine`. Raises SetUpError if there is no warehouse."""
    statements = (statement for view in views(warehouse, engine) for statement in view.statements(engine))
    return "".join(f"{statement.strip()};\n" for statement in statements)


def _init_sql(warehouse: str) -> str:
    """Returns the statements that create the views in the shell. Raises SetUpError for a remote warehouse."""
    if local(warehouse) is None:
        raise SetUpError(f"{warehouse} is not a local folder, which `tidemark sql` needs: use `tidemark sql-server`")
    return f"LOAD '{_extension()}';\nSET TimeZone = 'UTC';\n{views_sql(warehouse, Engine.DUCKDB)}"


def _shell() -> str:
    """Returns the path of DuckDB's shell; prefers this environment to PATH."""
    own = Path(sys.executable).with_name("duckdb")
    path = str(own) if own.exists() else shutil.which("duckdb")
    if path is None:
        raise SetUpError(_MISSING.format("DuckDB's shell"))
    return path


def _extension() -> Path:
    """Returns DuckDB's extension for Delta from PyPI; DuckDB itself would download it from elsewhere."""
    package = find_spec(_EXTENSION)
    folders = (package and package.submodule_search_locations) or ()
    file = next((file for folder in folders for file in Path(folder).rglob("delta.duckdb_extension")), None)
    if file is None:
        raise SetUpError(_MISSING.format("DuckDB's extension for Delta"))
    return file
