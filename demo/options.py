"""The options of the demo: its own, and those of the producer that the demo does not set itself."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from tidemark.producers.options import simulate_options

_SET: Final = {
    *("--bootstrap-servers", "--topic", "--create-topic", "--partitions", "--format"),
    *("--truth", "--truth-window"),
}
"""Options of the producer that the demo sets itself, or leaves as they are: its service reads Avro."""
_KEEP: Final = "--keep"


def command(run: Callable[[Path | None, Sequence[str]], int], arguments: Sequence[str]) -> click.Command:
    """Returns the command line, which calls `run` with the folder to keep and the producer's part of `arguments`."""

    def callback(keep: Path | None, **_: Any) -> int:
        return run(keep, list(_of_producer(arguments)))

    keep = click.Option(
        [_KEEP],
        type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
        metavar="FOLDER",
        callback=_check_empty,
        help="Write the warehouse to this new or empty folder, and leave it there at the end.",
    )
    options = [option for option in simulate_options() if not _SET & {*option.opts}]
    return click.Command("demo", params=[keep, *options], callback=callback)


def _check_empty(_: click.Context, __: click.Parameter, folder: Path | None) -> Path | None:
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(f"{folder} is not empty: name a new folder")
    return folder


def _of_producer(arguments: Sequence[str]) -> Iterator[str]:
    words = iter(arguments)
    for word in words:
        if word == _KEEP:
            next(words)
        elif not word.startswith(f"{_KEEP}="):
            yield word
