"""How a command line begins and ends: exit codes, and one sentence for what was typed wrongly."""

import sys
from collections.abc import Sequence
from typing import Final

import click

from command_line.printable import printable

SET_UP: Final = 2
"""The exit code where a person must put something right first."""
_INTERRUPTED: Final = 130


def run(program: click.Group, arguments: Sequence[str] | None = None) -> int:
    """Runs the verb that the arguments name, by default those of the process; returns the exit code.

    What was typed wrongly is told in one sentence; what a verb raises goes on to the caller.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = program.main(words, prog_name=program.name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return SET_UP
    except click.UsageError as error:
        click.echo(f"{program.name}: {printable(_sentence(error))}", err=True)
        return SET_UP
    except click.Abort:
        return _INTERRUPTED
    return code if isinstance(code, int) else 0


def _sentence(error: click.UsageError) -> str:
    """What was wrong, and where to read what would be right."""
    told = error.format_message()
    if isinstance(error, click.BadParameter) and error.param and not isinstance(error, click.MissingParameter):
        told = f"{' or '.join(error.param.opts)}: {error.message}"
    page = error.ctx.command_path if error.ctx else ""
    return " ".join(f"{told.removesuffix('.')}; see `{page} --help`".split())
