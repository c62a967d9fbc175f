"""Many small cases in one test: pytest needs more time for a test of its own than most of them take."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(name: object) -> Iterator[None]:
    """Names the case in the report of a failure within it."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {name}")
        raise
