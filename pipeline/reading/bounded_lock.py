"""A lock that is held over calls to a store, which may not answer: others wait for it only briefly."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from tidemark.pipeline.errors import TransientError


@contextmanager
def acquired(lock: Lock, patience_s: float) -> Iterator[None]:
    """Holds `lock` within the block. Raises TransientError if others hold it for longer than `patience_s` seconds."""
    if not lock.acquire(timeout=patience_s):
        raise TransientError(f"another request has been waiting for the store for more than {patience_s:g} s")
    try:
        yield
    finally:
        lock.release()
