"""`tidemark`: the list of verbs, and their exit codes."""

import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final, NoReturn

import click

from tidemark.command_line.completion import completion_of
from tidemark.command_line.main import SET_UP, run
from tidemark.command_line.printable import say
from tidemark.command_line.verbs import Verbs
from tidemark.pipeline.errors import NotComplete, NothingFound, SetUpError, TidemarkError
from tidemark.pipeline.runtime.scratch import remove_abandoned

_FAILED: Final = 1
_NOT_FOUND: Final = 3
_NOT_COMPLETE: Final = 4
_STORE_THREADS: Final = ("publisher", "status-reader")
"""Names of threads that may wait for a store."""
_VERBS: Final = {
    "setup": ("tidemark.pipeline.commands.setup:setup", "Download what `run` needs, for a start without a network."),
    "run": ("tidemark.pipeline.commands.run:run", "Read the topic and update the tables until stopped."),
    "check": ("tidemark.pipeline.commands.check:check", "Check whether `run` would start. Changes nothing."),
    "config": ("tidemark.pipeline.commands.config:config", "Show the settings and the source of each."),
    "health": ("tidemark.pipeline.commands.health:health", "Exit 0 if the service on this host is healthy."),
    "status": ("tidemark.pipeline.commands.status:status", "Show watermark, partitions and latest windows."),
    "dashboard": ("tidemark.pipeline.commands.dashboard:dashboard", "Serve the tables as a web page."),
    "report": ("tidemark.pipeline.commands.report:report", "Write a day as an HTML file, or a period as JSON or CSV."),
    "verify": ("tidemark.pipeline.commands.verify:verify", "Verify the tables against their invariants."),
    "compare": (
        "tidemark.pipeline.commands.compare:compare",
        "Compare results and dead letters of two warehouses of one topic.",
    ),
    "support-bundle": (
        "tidemark.pipeline.commands.support_bundle:support_bundle",
        "Write versions, settings and state without secrets, for a bug report.",
    ),
    "live": ("tidemark.pipeline.commands.live:live", "Print SQL for a view that includes open windows."),
    "sql": ("tidemark.pipeline.commands.sql:sql", "Query the tables with DuckDB."),
    "sql-server": (
        "tidemark.pipeline.commands.sql_server:sql_server",
        "Serve the tables to BI tools (PostgreSQL protocol).",
    ),
    "advise": ("tidemark.pipeline.commands.advise:advise", "Estimate what other lateness bounds would have counted."),
    "correct": ("tidemark.pipeline.commands.correct:correct", "Add too-late events to closed windows."),
    "dead-letters": (
        "tidemark.pipeline.commands.dead_letters:dead_letters",
        "Show rejected records, and replay those that are valid today.",
    ),
    "erase": ("tidemark.pipeline.commands.erase:erase", "Erase a user from every table."),
    "reset-watermark": (
        "tidemark.pipeline.commands.reset_watermark:reset_watermark",
        "Lower a watermark that ran ahead.",
    ),
}


class _InOrder(Verbs):
    """Lists verbs in the order of `_VERBS`: first the ones that are needed first."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is Click's
        return list(self.commands)


tidemark: Final = _InOrder(
    "tidemark",
    _VERBS,
    help="User behaviour in windows, from Kafka to Delta.\n\nExit codes: 0 success, 1 failure, 2 configuration error, "
    "3 nothing found, 4 not complete.",
)
tidemark.add_command(completion_of("tidemark"))
click.version_option(version("tidemark-lake"), message="%(prog)s %(version)s")(tidemark)


def program() -> NoReturn:
    """Runs the command as a process, which ends with the exit code of `main`."""
    # delta-rs would warn of each place without credentials, before the error with the reason.
    os.environ.setdefault("RUST_LOG", "error")
    remove_abandoned()  # files of killed processes may have user ids in clear
    end(main())


def end(code: int) -> NoReturn:
    """Ends the process with exit code `code`, without joining threads if one of them still waits for a store.

    A thread that returns to an interpreter that is shutting down would end the process with SIGSEGV.
    """
    if any(thread.name in _STORE_THREADS for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a verb and returns the exit code.

    0 success, 1 failure, 2 configuration error, 3 nothing found, 4 not complete.
    """
    try:
        return run(tidemark, argv)
    except TidemarkError as error:
        return _report(error, _code_of(error))
    except Exception as error:
        from tidemark.pipeline.tables.store_errors import is_of_store, one_line

        if not is_of_store(error):
            raise
        return _report(f"the store failed: {one_line(error)}", _FAILED)


def _code_of(error: TidemarkError) -> int:
    if isinstance(error, NothingFound):
        return _NOT_FOUND
    if isinstance(error, NotComplete):
        return _NOT_COMPLETE
    return SET_UP if isinstance(error, SetUpError) else _FAILED


def _report(problem: object, code: int) -> int:
    say(f"tidemark: {problem}", err=True)
    return code


if __name__ == "__main__":
    program()
