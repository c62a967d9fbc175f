"""The `producers` command: parse, call, print. Exit 0 done, 1 not delivered, 2 set up wrongly."""

import sys
from argparse import Namespace
from collections.abc import Callable

from producers import command_simulate
from producers.errors import ProducerError
from producers.options import parse

_COMMANDS: dict[str, Callable[[Namespace], str]] = {"simulate": command_simulate.execute}


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code, having said in one sentence why it is not 0."""
    try:
        options = parse(argv)
        sys.stdout.write(f"{_COMMANDS[options.command](options)}\n")
    except ProducerError as error:
        sys.stderr.write(f"producers: {error}\n")
        return error.exit_code
    return 0
