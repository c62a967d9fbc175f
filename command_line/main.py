"""Runs a command line: exit codes, and one sentence for a usage error."""

import sys
from collections.abc import Sequence
from typing import Final

import click

from command_line.printable import printable

SET_UP: Final = 2
"""The exit code of a usage or configuration error."""
_INTERRUPTED: Final = 130


def run(program: click.Group, arguments: Sequence[str] | None = None) -> int:
    """Runs the verb that `arguments` name (default: the arguments of the process), and returns the exit code.

    Prints one sentence for a usage error. Errors of a verb are passed on to the caller.
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
    """Returns the error and where to read the right usage."""
    message = error.format_message()
    if isinstance(error, click.BadParameter) and error.param and not isinstance(error, click.MissingParameter):
        message = f"{' or '.join(error.param.opts)}: {error.message}"
    page = error.ctx.command_path if error.ctx else ""
    return " ".join(f"{message.removesuffix('.')}; see `{page} --help`".split())
