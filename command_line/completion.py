"""The verb `completion`: prints a script that makes a shell complete the words of a program."""

import click
from click.shell_completion import get_completion_class

from tidemark.command_line.verbs import Verb

_SHELLS = ("bash", "zsh", "fish")


def completion_of(program: str) -> Verb:
    """Returns the verb `completion` of the program with this name."""
    argument = click.Argument(["shell"], type=click.Choice(_SHELLS), metavar=f"{{{'|'.join(_SHELLS)}}}")

    def show(shell: str) -> int:
        completion = get_completion_class(shell)
        assert completion is not None  # noqa: S101 - Click has all three
        group = click.get_current_context().find_root().command
        click.echo(completion(group, {}, program, f"_{program}_COMPLETE".upper()).source())
        return 0

    return Verb(
        "completion",
        callback=show,
        params=[argument],
        short_help="Print a script for completion in a shell.",
        help=f"Prints a script that makes a shell complete the verbs, options and values of {program}.",
        examples=[
            f'eval "$({program} completion bash)"    # in ~/.bashrc',
            f'eval "$({program} completion zsh)"     # in ~/.zshrc',
            f"{program} completion fish > ~/.config/fish/completions/{program}.fish",
        ],
    )
