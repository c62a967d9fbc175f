"""Secrets and files that the settings name, where they are read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_access.errors import AccessError
from kafka_access.secrets import clear_text
from pipeline.errors import SetUpError
from pipeline.pseudonyms import Pseudonyms

_SHORTEST: Final = 32


@contextmanager
def raising_set_up_errors() -> Iterator[None]:
    """Within it what is wrong with a secret or a file is a SetUpError."""
    try:
        yield
    except AccessError as error:
        raise SetUpError(str(error)) from error


def pseudonyms_from(file: Path | None) -> Pseudonyms | None:
    """Pseudonyms by the key in a file; None where none is named. Raises SetUpError where it holds no key."""
    name = "privacy.pseudonym_key"
    with raising_set_up_errors():
        key = clear_text(None, file, name)
    if key is None:
        return None
    if len(key) < _SHORTEST:
        raise SetUpError(
            f"the key in {name}_file {file} has {len(key)} characters of {_SHORTEST} at least: "
            f"make one, as by `openssl rand -hex 32 > {file}`"
        )
    return Pseudonyms(key.encode())
