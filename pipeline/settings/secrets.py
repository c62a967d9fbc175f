"""Secrets and files that the settings name, where they are read."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_access.errors import AccessError
from pipeline.errors import SetUpError


@contextmanager
def for_a_person() -> Iterator[None]:
    """Within it what is wrong with a secret or a file is a SetUpError."""
    try:
        yield
    except AccessError as error:
        raise SetUpError(str(error)) from error
