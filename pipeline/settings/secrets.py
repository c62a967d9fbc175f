"""Reads secrets and files that the settings name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.kafka_access.errors import AccessError
from tidemark.kafka_access.secrets import clear_text
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.pseudonyms import Pseudonyms

_SHORTEST: Final = 32


@contextmanager
def raising_set_up_errors() -> Iterator[None]:
    """Converts an AccessError within the block, for a wrong secret or file, to a SetUpError."""
    try:
        yield
    except AccessError as error:
        raise SetUpError(str(error)) from error


def pseudonyms_from(file: Path | None) -> Pseudonyms | None:
    """Returns pseudonyms with the key in `file`; None without a file. Raises SetUpError if the file has no key."""
    name = "privacy.pseudonym_key"
    with raising_set_up_errors():
        key = clear_text(None, file, name)
    if key is None:
        return None
    if len(key) < _SHORTEST:
        raise SetUpError(
            f"the key in {name}_file {file} has {counted(len(key), 'character')}; it needs at least {_SHORTEST}: "
            f"make one, such as with `openssl rand -hex 32 > {file}`"
        )
    return Pseudonyms(key.encode())
