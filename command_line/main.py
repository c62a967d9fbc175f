"""Runs a command line: exit codes, and one sentence for a usage error."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

import click

from tidemark.command_line.extras import of_missing
from tidemark.command_line.printable import printable, shortened

SET_UP: Final = 2
"""The exit code of a usage or configuration error."""
_INTERRUPTED: Final = 130
_LONGEST: Final = 500
"""Click's message, which may repeat user input, is shortened to this many characters."""


def run(program: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Runs a program with `arguments` (default: those of the process), and returns the exit code.

    Prints one sentence for a usage error. Errors of a verb are passed on to the caller.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # its encoding may lack characters of names and values
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = program.main(words, prog_name=program.name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return SET_UP
    except click.UsageError as error:
        click.echo(f"{program.name}: {printable(_sentence(error))}", err=True)
        return SET_UP
    except ModuleNotFoundError as error:
        if (sentence := of_missing(error)) is None:
            raise
        click.echo(f"{program.name}: {sentence}", err=True)
        return SET_UP
    except click.Abort:
        return _INTERRUPTED
    return code if isinstance(code, int) else 0


def _sentence(error: click.UsageError) -> str:
    """Returns the message of an error, and the command that prints the right usage."""
    message = _suggestion(error) or error.format_message()
    if isinstance(error, click.BadParameter) and error.param and not isinstance(error, click.MissingParameter):
        message = f"{' or '.join(error.param.opts)}: {error.message}"
    page = error.ctx.command_path if error.ctx else ""
    return " ".join(f"{shortened(message, _LONGEST).removesuffix('.')}; see `{page} --help`".split())


def _suggestion(error: click.UsageError) -> str:
    """Returns the error with the options of sections that end as an unknown option, the verb's own section first.

    Click compares whole names, and would suggest `--metrics.port` alone for `dashboard --port`.
    """
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    ending, own = f".{error.option_name.lstrip('-')}", f"--{error.ctx.info_name}."
    options = [name for parameter in error.ctx.command.params for name in parameter.opts if name.endswith(ending)]
    names = " or ".join(repr(name) for name in sorted(options, key=lambda name: not name.startswith(own)))
    return f"{error.message} Did you mean {names}?" if names else ""
