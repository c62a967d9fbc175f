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

from pipeline.errors import SetUpError
from pipeline.reading import shell_output
from pipeline.reading.sql_views import views
from pipeline.tables.durable import local
from pipeline.tables.engines import Engine

FORMATS: Final = {"table": "-box", "csv": "-csv", "json": "-json"}
"""How rows may be shown, and what the shell calls it."""
_EXTENSION: Final = "duckdb_extension_delta"
_MISSING: Final = "{} is missing, which `tidemark sql` runs: pip install 'tidemark-lake[sql]'"


def run_shell(warehouse: str, statement: str | None, form: str) -> int:
    """Answers a statement, or opens the shell where there is none; returns its exit code.

    Raises SetUpError where there is no warehouse that it can read, or no shell.
    """
    words = [_shell(), "-init", "/dev/null", "-cmd", _begin(warehouse), FORMATS[form]]
    if statement is not None:
        return _run([*words, "-bail", "-c", statement], form)
    # Ctrl-C is for the shell, which ends a query by it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return _run([*words, "-cmd", ".pager on"], form, is_in_terminal=True)
        return _run(words, form)
    finally:
        signal.signal(signal.SIGINT, before)


def _run(words: Sequence[str], form: str, *, is_in_terminal: bool = False) -> int:
    """Runs the shell, shows its answers as text, and returns its exit code.

    In a terminal the shell edits lines by itself, so its answers go through a pager that is ours.
    """
    pager = shlex.join([sys.executable, "-m", shell_output.__name__, form])
    answers = None if is_in_terminal else subprocess.PIPE
    with subprocess.Popen(
        words,
        stdout=answers,
        stderr=subprocess.PIPE,
        env={**os.environ, "DUCKDB_PAGER": pager},
        encoding="utf-8",
        errors="backslashreplace",
    ) as shell:
        assert shell.stderr  # noqa: S101 - for the type checker
        mistakes = Thread(target=shell_output.copy_lines, args=(shell.stderr, "table", sys.stderr))
        mistakes.start()
        if shell.stdout:
            shell_output.copy_lines(shell.stdout, form, sys.stdout)
            shell.stdout.close()
        mistakes.join()
    return shell.returncode


def statements(warehouse: str, engine: Engine) -> str:
    """The statements that make the views in a session of an engine. Raises SetUpError where there is no warehouse."""
    made = (statement for view in views(warehouse, engine) for statement in view.statements(engine))
    return "".join(f"{statement.strip()};\n" for statement in made)


def _begin(warehouse: str) -> str:
    """The statements that make the views."""
    if local(warehouse) is None:
        raise SetUpError(
            f"{warehouse} is no folder of this machine, which `tidemark sql` reads: use `tidemark sql-server`"
        )
    return f"LOAD '{_extension()}';\nSET TimeZone = 'UTC';\n{statements(warehouse, Engine.DUCKDB)}"


def _shell() -> str:
    """DuckDB's command line, that of this environment before others."""
    beside = Path(sys.executable).with_name("duckdb")
    found = str(beside) if beside.exists() else shutil.which("duckdb")
    if found is None:
        raise SetUpError(_MISSING.format("DuckDB's shell"))
    return found


def _extension() -> Path:
    """DuckDB's reader of Delta, as PyPI has it: DuckDB itself would fetch it from elsewhere."""
    found = find_spec(_EXTENSION)
    folders = (found and found.submodule_search_locations) or ()
    file = next((file for folder in folders for file in Path(folder).rglob("delta.duckdb_extension")), None)
    if file is None:
        raise SetUpError(_MISSING.format("DuckDB's extension for Delta"))
    return file
