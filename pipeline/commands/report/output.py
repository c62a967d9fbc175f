"""Where a page is written: to a file that is whole or not there, or to standard output."""

import os
from contextlib import suppress
from pathlib import Path

import click

from pipeline.errors import SetUpError


def put(page: str, output: str) -> None:
    """Writes a page; `-` is standard output. Raises SetUpError where the file cannot be written."""
    if output == "-":
        click.echo(page.encode(), nl=False)  # in UTF-8, whatever the terminal has
        return
    file = Path(output)
    part = file.parent / f".tidemark-{os.getpid()}"
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise SetUpError(f"cannot write {output}: {error.strerror}. Name another file by --output") from error
    finally:
        with suppress(OSError):
            part.unlink()
    click.echo(f"written to {output}")
