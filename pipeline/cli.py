"""`tidemark`: the verbs, and how they end."""

import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final, NoReturn

import click

from command_line.completion import completion_of
from command_line.main import SET_UP, run
from command_line.printable import say
from command_line.verbs import Verbs
from pipeline.errors import SetUpError, TidemarkError
from pipeline.runtime.scratch import remove_abandoned

_FAILED: Final = 1
_HELD: Final = ("publisher", "status-reader")
"""Threads that wait for a store."""
_VERBS: Final = {
    "run": ("pipeline.commands.run:run", "Read the topic and keep the tables, until told to stop."),
    "check": ("pipeline.commands.check:check", "Look whether a start would succeed. Changes nothing."),
    "config": ("pipeline.commands.config:config", "Show the settings and where each comes from."),
    "health": ("pipeline.commands.health:health", "Ask the service beside it whether it is well."),
    "status": ("pipeline.commands.status:status", "Show what the tables say."),
    "dashboard": ("pipeline.commands.dashboard:dashboard", "Show the tables as a web page."),
    "report": ("pipeline.commands.report:report", "Write a day as one HTML file."),
    "verify": ("pipeline.commands.verify:verify", "Verify the tables against their invariants."),
    "live": ("pipeline.commands.live:live", "Print the SQL of a view that has the open windows, too."),
    "sql": ("pipeline.commands.sql:sql", "Ask the tables in DuckDB's SQL."),
    "sql-server": ("pipeline.commands.sql_server:sql_server", "Be a SQL end point for BI tools."),
    "advise": ("pipeline.commands.advise:advise", "Tell what other bounds would have made of the events."),
    "correct": ("pipeline.commands.correct:correct", "Add too-late events to closed windows."),
    "dead-letters": (
        "pipeline.commands.dead_letters:dead_letters",
        "Show what was rejected, and add what today's rules would take.",
    ),
    "erase": ("pipeline.commands.erase:erase", "Take a person out of every table."),
    "reset-watermark": ("pipeline.commands.reset_watermark:reset_watermark", "Put back a watermark that ran ahead."),
}


class _InOrder(Verbs):
    """Listed as a person comes to need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is Click's
        return list(self.commands)


tidemark: Final = _InOrder(
    "tidemark",
    _VERBS,
    help="Windowed user behaviour from Kafka to Delta Lake.\n\nExit codes: 0 done, 1 failed, 2 to be put right first.",
)
tidemark.add_command(completion_of("tidemark"))
click.version_option(version("tidemark-lake"), message="%(prog)s %(version)s")(tidemark)


def program() -> NoReturn:
    """The command as a process, which ends with the exit code of `main`."""
    remove_abandoned()  # what killed ones left may have users in clear
    end(main())


def end(code: int) -> NoReturn:
    """Ends the process; at once where a store still holds the publisher, or who reads for `status --watch`.

    One that came back to a Python that is being taken down would have the process end by SIGSEGV.
    """
    if any(thread.name in _HELD for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a verb; returns the exit code: 0 done, 1 failed, 2 something must be put right first."""
    try:
        return run(tidemark, argv)
    except TidemarkError as error:
        return _say(error, SET_UP if isinstance(error, SetUpError) else _FAILED)
    except Exception as error:
        from pipeline.tables.store_errors import is_of_store, one_line

        if not is_of_store(error):
            raise
        return _say(f"the store failed: {one_line(error)}", _FAILED)


def _say(what: object, code: int) -> int:
    say(f"tidemark: {what}", err=True)
    return code


if __name__ == "__main__":
    program()
